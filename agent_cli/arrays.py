"""NumPy, imported when needed."""

import os
from functools import cache
from typing import Any

_THREADS = "OPENBLAS_NUM_THREADS"


@cache
def numpy() -> Any:
    """NumPy, imported when needed, with one thread: in products as small as these, threads mostly wait."""
    given = os.environ.get(_THREADS)
    os.environ[_THREADS] = given or "1"
    import numpy

    if given is None:
        del os.environ[_THREADS]  # not for the programs that this one starts
    return numpy
