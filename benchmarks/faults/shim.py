"""Compiles shim.c and runs commands of the program with it."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from shutil import which

from tests import warm
from tests.conftest import Program, Ran

SOURCE = Path(__file__).with_name("shim.c")


class Missing(Exception):
    """There is no compiler, or the system cannot preload a library. The text says which."""


def compiled(folder: Path) -> Path:
    """The library, made in this folder. Raises Missing."""
    if sys.platform != "linux":
        raise Missing("faults are injected with LD_PRELOAD, which needs Linux")
    compiler = which(os.environ.get("CC", "cc"))
    if not compiler:
        raise Missing("there is no C compiler: install one (apt install gcc), or name it with CC")
    library = folder / "shim.so"
    options = ("-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl", "-lpthread")
    made = subprocess.run([compiler, *map(str, options)], capture_output=True, text=True)
    if made.returncode:
        raise Missing(f"{SOURCE} was not compiled: {made.stderr.strip()}")
    return library


class FaultyProgram(Program):
    """The program with the library preloaded. Nothing fails but what is named with `fault`."""

    def __init__(self, home: Path, library: Path):
        super().__init__(home)
        self._parent = warm.Parent({**warm.environment(), "LD_PRELOAD": str(library)})

    def faulty(self, *arguments: str, **fault: str) -> Ran:
        """Run a command with this fault: `how="EIO", at="3"` is FAULT_HOW and FAULT_AT."""
        wanted = {f"FAULT_{name.upper()}": value for name, value in fault.items()}
        return self(*arguments, env={"FAULT_UNDER": str(self.home.resolve()), **wanted})

    def __call__(
        self, *arguments: str, stdin: str = "", env: Mapping[str, str] | None = None, timeout: float = 60
    ) -> Ran:
        return Ran(*self._parent.run(arguments, {**self.env, **(env or {})}, self.work, stdin, timeout))

    def close(self) -> None:
        self._parent.close()
