"""A conversation as text: a transcript of limited length, and its sentences weighted by importance."""

import re
from collections import Counter
from collections.abc import Sequence

from agent_cli import text
from agent_cli.memory.conversations import capture, log
from agent_cli.memory.language.terms import STOP_WORDS
from agent_cli.messages import Part
from agent_cli.values import frozen

_PERSON, _ASSISTANT = "person", "assistant"


@frozen
class WeightedSentence:
    speaker: str
    words: str
    weight: float
    place: int  # in the conversation


def transcript(entries: Sequence[log.Entry], characters: int) -> str:
    """The messages of person and assistant, a line each, at most this long; long messages lose their middle first."""
    spoken = [
        (_speaker(entry), " ".join(entry.message.text.split()))
        for entry in entries
        if log.is_spoken(entry) and entry.message.text
    ]
    return _fitting(spoken, characters, 12)[:characters]


def shorten(words: str, characters: int) -> str:
    """A text of at most this length; long lines lose their middle first, then whole lines are dropped."""
    if len(words) <= characters:
        return words
    return _fitting([("", line) for line in words.splitlines()], characters, 1)[:characters]


def _fitting(said: list[tuple[str, str]], characters: int, extra: int) -> str:
    """What these speakers say, a line each; lines lose their middle, then only every n-th and the last one stay."""
    room = characters
    while sum(len(words) + extra for _, words in said) > characters and room > 80:
        room = room // 2
        half = room // 2
        said = [(who, words if len(words) <= room else f"{words[:half]} … {words[-half:]}") for who, words in said]
    lines = [f"{who}: {words}" if who else words for who, words in said]
    for step in range(max(1, len(lines) // characters), len(lines)):
        chosen = [*lines[:-1:step], lines[-1]]
        if sum(len(line) + 1 for line in chosen) <= characters:
            return "\n".join(chosen)
    return "\n".join(lines[-1:])


def escape_end_tag(words: str, element: str) -> str:
    """The text without end tags of this element, so that it cannot escape from it in a prompt."""
    return re.sub(rf"<(?=\s*/\s*{element}\b)", "‹", words, flags=re.IGNORECASE)


def sentences(transcript: str) -> list[WeightedSentence]:
    """Each sentence with its weight: the mean frequency of its words (SumBasic), more for the person and numbers."""
    spoken = [
        (line.split(": ", 1)[0], piece)
        for line in transcript.splitlines()
        for piece in text.sentences(line.partition(": ")[2])
    ]
    frequency = Counter(word for _, piece in spoken for word in _content_words(piece))
    return [
        WeightedSentence(speaker, text.with_full_stop(piece), _weight(speaker, piece, frequency), place)
        for place, (speaker, piece) in enumerate(spoken)
    ]


def narration(sentences: Sequence[WeightedSentence]) -> str:
    """Sentences as a text in the person's words: `What do I like? I like tea. The assistant answered: “Noted.”`

    Each sentence of the assistant's stands in quotation marks, so that none is taken for the person's where only a part
    of the text is read.
    """
    pieces, before = list[str](), ""
    for each in sorted(sentences, key=lambda each: each.place):
        if each.speaker == _PERSON:
            pieces.append(_without_request(each.words))
        elif each.speaker == _ASSISTANT:
            pieces.append(f"{'' if before == _ASSISTANT else 'The assistant answered: '}“{each.words}”")
        else:
            pieces.append(f"{each.speaker}: {each.words}")
        before = each.speaker
    return " ".join(pieces)


def _without_request(sentence: str) -> str:
    """What a sentence such as "Remember that I live in Graz." states, else the sentence."""
    asked = capture.capture([Part(sentence, "typed")])
    return text.capitalised(text.with_full_stop(asked[0].statement)) if len(asked) == 1 else sentence


def _speaker(entry: log.Entry) -> str:
    return text.one_line(entry.author, 40) or (_PERSON if entry.message.role == "user" else _ASSISTANT)


def _content_words(piece: str) -> list[str]:
    return [word for word in text.words(piece) if word not in STOP_WORDS and len(word) > 2]


def _weight(speaker: str, piece: str, frequency: Counter[str]) -> float:
    words = _content_words(piece)
    if not words:
        return 0.0
    weight = sum(frequency[word] for word in words) / len(words)
    weight *= 1.0 if speaker == _ASSISTANT else 1.5
    return weight * (1.3 if any(character.isdigit() for character in piece) else 1.0)
