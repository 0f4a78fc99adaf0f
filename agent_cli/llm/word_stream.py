"""A complete text streamed word by word, as a model would."""

import re
from collections.abc import Iterator

from agent_cli.llm.model import Cancel, Text

_WORD = re.compile(r"\S+\s*|\s+")


def stream_words(text: str, cancel: Cancel, pace: float = 0.0) -> Iterator[Text]:
    """The text in words, `pace` seconds between them. Raises Cancelled."""
    for index, word in enumerate(_WORD.findall(text)):
        cancel.wait(pace if index else 0.0)
        yield Text(word)
