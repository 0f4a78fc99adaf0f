"""NumPy, imported when it is needed (80 ms)."""

import os
from functools import cache
from importlib.util import find_spec
from typing import Any

_THREADS = "OPENBLAS_NUM_THREADS"


@cache
def numpy() -> Any:
    """NumPy with one thread: in products as small as those of a search, threads mostly wait."""
    given = os.environ.get(_THREADS)
    os.environ[_THREADS] = given or "1"
    import numpy

    if given is None:
        del os.environ[_THREADS]  # not for the programs that this one starts
    return numpy


@cache
def has_bit_count() -> bool:
    """Whether NumPy is installed (it comes with the optional dependency `embedded`) and counts bits, as from 2.0 on."""
    return find_spec("numpy") is not None and hasattr(numpy(), "bitwise_count")
