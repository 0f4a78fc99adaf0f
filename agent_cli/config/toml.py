"""A value as the configuration file has it, on one line."""

import json
import re
from typing import Any


def line(value: Any) -> str:
    """A value as the configuration file has it, on one line."""
    if isinstance(value, dict):
        named = ((key if re.fullmatch("[A-Za-z0-9_-]+", key) else line(key), line(item)) for key, item in value.items())
        entries = ", ".join(map(" = ".join, named))
        return f"{{ {entries} }}" if entries else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(line, value))}]"
    literal = json.dumps(value, ensure_ascii=False, default=str).replace("\x7f", "\\u007f")
    return str(value) if isinstance(value, float) else literal  # inf and nan too, which JSON has not
