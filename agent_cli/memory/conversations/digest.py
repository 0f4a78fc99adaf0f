"""A conversation in short: its transcript, its sentences by importance, and the rolling summary of the part that no
longer fits the model's context window. That is always made from the transcript, never from an older summary: at once
from the most important sentences, and again by the small model in a job; numbers, paths and the like stand beside
it."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from agent_cli import clock, text
from agent_cli.memory.conversations import capture, log
from agent_cli.memory.language import keywords, languages, secrets
from agent_cli.memory.language.terms import STOP_WORDS
from agent_cli.messages import Part
from agent_cli.store import ids, jobs
from agent_cli.store.db import Database
from agent_cli.values import frozen

_PERSON, _ASSISTANT = "person", "assistant"
SPEAKERS = {"user": _PERSON, "assistant": _ASSISTANT}  # by the role of a message

JOB = "fold"
WORDS = 150
_SENTENCE = 40  # words of one sentence
_MIN_NEW = 0.4  # share of new words that a sentence needs
_DETAILS = 400  # characters
_LONGEST = 1_500  # characters, for scripts without spaces
_EXTRACTED = 40_000  # characters of a transcript

_QUESTION = """Below is the earlier part of a conversation that goes on. Its words are no longer shown to the assistant.
Write down, in at most 120 words and in the language of the conversation, what the assistant must still know: durable
facts about the person, preferences, decisions, names, numbers, what is left open. State only what is said. No heading,
no list, no introduction.

<conversation>
{transcript}
</conversation>"""

_DURABLE = languages.pattern(r"\b<DURABLE>\b")


@frozen
class WeightedSentence:
    speaker: str
    words: str
    weight: float
    place: int  # in the conversation


def transcript(entries: Sequence[log.Entry], characters: int) -> str:
    """The messages of person and assistant, a line each, at most this long; long messages lose their middle first."""
    spoken = [entry for entry in entries if log.is_spoken(entry) and entry.message.text]
    who = [text.one_line(entry.author, 40) or SPEAKERS[entry.message.role] for entry in spoken]
    words = [" ".join(entry.message.text.split()) for entry in spoken]
    return _fitting([*zip(who, words, strict=True)], characters, 12)[:characters]


def shorten(words: str, characters: int) -> str:
    """A text of at most this length; long lines lose their middle first, then whole lines are dropped."""
    if len(words) <= characters:
        return words
    return _fitting([("", line) for line in words.splitlines()], characters, 1)[:characters]


def _fitting(said: list[tuple[str, str]], characters: int, extra: int) -> str:
    """What these speakers say, a line each; lines lose their middle, then only every n-th and the last one stay."""
    room = characters
    while sum(len(words) + extra for _, words in said) > characters and room > 80:
        room, half = room // 2, room // 4
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
    lines = (line.partition(": ") for line in transcript.splitlines())
    spoken = [(speaker, piece) for speaker, _, said in lines for piece in text.sentences(said)]
    words = [[word for word in text.words(piece) if word not in STOP_WORDS and len(word) > 2] for _, piece in spoken]
    frequency = Counter(word for each in words for word in each)
    weighted = []
    for place, ((speaker, piece), each) in enumerate(zip(spoken, words, strict=True)):
        weight = sum(frequency[word] for word in each) / max(1, len(each)) * (1.0 if speaker == _ASSISTANT else 1.5)
        weight *= 1.3 if any(character.isdigit() for character in piece) else 1.0
        weighted.append(WeightedSentence(speaker, text.with_full_stop(piece), weight, place))
    return weighted


def narration(sentences: Sequence[WeightedSentence]) -> str:
    """Sentences as a text in the person's words; those of the assistant stand in quotation marks."""
    pieces, before = list[str](), ""
    for each in sorted(sentences, key=lambda each: each.place):
        if each.speaker == _PERSON:  # of "Remember that I live in Graz." what it states
            asked = capture.capture([Part(each.words, "typed")])
            stated = text.capitalised(text.with_full_stop(asked[0].statement)) if len(asked) == 1 else each.words
            pieces.append(stated)
        elif each.speaker == _ASSISTANT:
            pieces.append(f"{'' if before == _ASSISTANT else 'The assistant answered: '}“{each.words}”")
        else:
            pieces.append(f"{each.speaker}: {each.words}")
        before = each.speaker
    return " ".join(pieces)


@frozen
class RollingSummary:
    up_to: int  # the last message it covers
    text: str
    details: str
    method: str


def rolling(db: Database, session: int) -> RollingSummary | None:
    row = db.row("select up_to, text, details, method from rolling where session_id = ?", (session,))
    return RollingSummary(*row) if row else None


def fold(db: Database, session: int, up_to: int, now: datetime) -> RollingSummary:
    """Summarise the messages up to this one: extract now, and queue the model's version."""
    with db.write():
        entries = folded(db, session, up_to)
        made = _made(up_to, extract(entries), entries, "extract")
        _write(db, session, made, now)
        jobs.add(db, JOB, ids.handle("session", session), now)
    return made


def ask_model(
    db: Database, session: int, characters: int, ask: Callable[[str], Iterator[str]]
) -> RollingSummary | None:
    """The model's version of the present summary; None when there is none."""
    present = rolling(db, session)
    if present is None:
        return None
    entries = folded(db, session, present.up_to)
    said = escape_end_tag(transcript(entries, characters), "conversation")
    words = " ".join("".join(ask(_QUESTION.format(transcript=said))).split())
    sentences = text.sentences(words)
    while sentences and len(" ".join(sentences).split()) > WORDS:
        sentences.pop()
    short = text.one_line(" ".join(sentences or words.split()[:WORDS]), _LONGEST)
    return _made(present.up_to, short, entries, "model") if words else None


def save(db: Database, session: int, made: RollingSummary, now: datetime) -> bool:
    """Store the model's version; False when more messages are covered since. Runs in the caller's transaction."""
    present = rolling(db, session)
    if present and present.up_to == made.up_to:
        _write(db, session, made, now)
    return not present or present.up_to == made.up_to


def erase(db: Database, sessions: Sequence[int]) -> None:
    db.execute("delete from rolling where session_id in (select value from json_each(?))", (sessions,))


def extract(entries: Sequence[log.Entry]) -> str:
    """The most important sentences with new words, in order, in at most 150 words; what the person says comes first."""

    def is_lasting(each: WeightedSentence) -> bool:  # suggests a lasting statement of the person
        return each.speaker != _ASSISTANT and not each.words.endswith("?") and bool(_DURABLE.search(each.words))

    found = sentences(transcript(entries, _EXTRACTED))
    chosen, known, room = list[WeightedSentence](), set[str](), WORDS
    for each in sorted(found, key=lambda each: (not is_lasting(each), -each.weight)):
        words = each.words.split()
        if len(words) > _SENTENCE:
            words = [*words[:_SENTENCE], "…"]
            each = replace(each, words=" ".join(words))
        size, sentence_words = len(words) + 1, set(text.words(each.words))
        if each.weight and size <= room and len(sentence_words - known) >= _MIN_NEW * len(sentence_words):
            room -= size
            known |= sentence_words
            chosen.append(each)
    return " ".join(f"{each.speaker}: {each.words}" for each in sorted(chosen, key=lambda each: each.place))


def _made(up_to: int, words: str, entries: Sequence[log.Entry], method: str) -> RollingSummary:
    """The summary with the details, such as numbers and paths, that its words leave out."""
    details = keywords.newest_details((entry.message.text for entry in entries), _DETAILS, words)
    return RollingSummary(up_to, secrets.mask(words), secrets.mask(details), method)


def folded(db: Database, session: int, up_to: int | None = None) -> list[log.Entry]:
    """The messages of person and model up to this one; else those that the present summary covers."""
    if up_to is None:
        present = rolling(db, session)
        up_to = present.up_to if present else 0
    return [entry for entry in log.history(db, session, before=up_to + 1) if log.is_spoken(entry)]


def _write(db: Database, session: int, made: RollingSummary, now: datetime) -> None:
    query = """insert into rolling (session_id, up_to, text, details, method, at) values (?, ?, ?, ?, ?, ?)
               on conflict (session_id) do update set up_to = excluded.up_to, text = excluded.text,
                  details = excluded.details, method = excluded.method, at = excluded.at"""
    db.execute(query, (session, made.up_to, made.text, made.details, made.method, clock.utc(now)))
