"""A reply that repeats itself without end is stopped; lists, tables, poems, numbers, logs and code are not."""

import ast
import itertools
import random
import re
import sysconfig
from pathlib import Path

from agent_cli.llm.model import Done, PriorTextWasThinking, Text, Thinking
from agent_cli.llm.repair import FINISH, Repetition, without_repetition
from tests.tables import for_each

_TOKEN = re.compile(r"\s?[^\W\d_]{1,6}|\s?\d{1,3}|\s+|[^\w]|_")
_BEGIN = "Here is what I can tell you about that. "

PHRASES = (
    "La question est de la question. ",
    "The cat sat on the mat.\n",
    "- item\n",
    "the ",
    "No, no, no, ",
    "Yes! 😀 ",
    "1. The answer is yes.\n",
    "你好，我是助手。",
    "これは質問です。",
    "I'm sorry, but I can't help with that. ",
    "I am an assistant. I can help you with your questions. Please let me know what you would like to know. ",
    "Es tut mir leid, dass ich dir nicht helfen kann. Frage bitte jemanden, der sich damit auskennt.\n\n",
    "**Note:** this is important.\n\n",
    "The first is the second, and the second is the first, and ",
    "ha",
    "Nein. ",
    "What do you mean by that? I mean what I mean by that. ",
    "<b>hello</b> ",
    "\\n\\n",
    "User: hello\nAssistant: hello\n",
)


def pieces(text):
    """The text as a model streams it."""
    return _TOKEN.findall(text)


def stops_at(text):
    """How many tokens of the text are read until it is stopped; None when it is not."""
    reading = Repetition()
    return next((n for n, piece in enumerate(pieces(text), 1) if reading.feed(piece)), None)


@for_each("phrase", PHRASES)
def test_a_loop_ends_within_two_hundred_repeated_tokens(phrase):
    new = len(pieces(_BEGIN + phrase))
    assert stops_at(_BEGIN + phrase * 400) - new <= 200


def test_a_sentence_or_line_ends_it_where_it_stands_for_the_third_time_and_nothing_new_between():
    again = ("Today is Monday, or so I think.\n", "The answer is today. You can say this:\n\n")
    assert [len(pieces(each * 3)) - stops_at(each * 9) in (0, 1) for each in again] == [True, True]
    assert stops_at("💡\n❁\n" * 20) < 50
    assert stops_at("I do not know.\nWell, then.\nI do not know.\nLet us see.\nI do not know.\n") is None


def test_a_loop_with_a_counter_and_one_with_slips_end_too():
    counted = "".join(f"{n}. I will answer the question.\n" for n in range(1, 400))
    slips = "".join(f"I think that I know the answer to it{', Anna' if n % 12 == 0 else ''}. " for n in range(400))
    assert stops_at(counted) <= 200
    assert stops_at(slips) <= 300


def test_a_loop_in_code_in_a_table_and_of_numbers_ends_later():
    assert stops_at("```python\n" + "x = f(x)\n" * 400) <= 400
    assert stops_at("| a | b |\n| yes | no |\n" * 400) <= 600
    assert stops_at("0, " * 1000) <= 800


def legitimate():
    """Two hundred answers that a person may want."""
    chance = random.Random(3)
    lists = [f"{n}. Buy {chance.choice(['milk', 'tea', 'salt', 'rice'])} for {n} people\n" for n in range(1, 60)]
    yield "".join(lists)
    yield "".join(f"- Chapter {n}: {chance.choice(['The sea', 'The hill', 'The road'])}\n" for n in range(1, 100))
    for base in range(2, 12):
        yield "".join(f"{base} times {n} is {base * n}.\n" for n in range(1, 40))
        yield "| n | square | even |\n|---|---|---|\n" + "".join(
            f"| {n} | {n * n} | {'yes' if n % 2 == 0 else 'no'} |\n" for n in range(base, base + 40)
        )
    for size in (4, 8, 10, 12):
        yield "\n".join(["0 " * size] * size)
        yield "```\n" + "\n".join(" ".join(chance.choices("01", k=size)) for _ in range(size)) + "\n```"
    for level in ("INFO", "WARN", "ERROR", "DEBUG"):
        yield "".join(
            f"2026-01-02 12:{n:02}:07 {level} worker {n % 4}: heartbeat ok in {n * 7} ms\n" for n in range(60)
        )
    refrain = "Row, row, row your boat,\nGently down the stream.\nMerrily, merrily, merrily,\nLife is but a dream.\n\n"
    verses = ["The sun goes up", "The wind is still", "The night is long", "The day is done"]
    for count in (2, 3):
        yield "".join(f"{verse}\nand all of us are here.\n\n{refrain}" for verse in verses[:count])
    bottles = range(12, 0, -1)
    yield "".join(
        f"{n} bottles of milk on the wall, {n} bottles of milk.\nTake one down, pass it around, {n - 1} bottles.\n\n"
        for n in bottles
    )
    yield "".join(f'{{"id": {n}, "name": "{chance.choice("abcdefgh") * 4}", "active": true}},\n' for n in range(50))
    yield "".join(
        f"server {{\n  listen {8000 + n};\n  name host{n}.example;\n  root /srv/{n};\n}}\n" for n in range(20)
    )
    yield "-" * 300
    yield "A" + "a" * 60 + "h!"
    yield from _of_the_standard_library(200)


def _of_the_standard_library(count):
    """Documentation as prose, and code in a block, of modules of the standard library."""
    files = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    for path in itertools.islice(files, count):
        code = path.read_text(encoding="utf-8", errors="replace")
        yield f"Here it is:\n\n```python\n{code[:2500]}\n```\n"
        if words := ast.get_docstring(ast.parse(code)):
            yield words[:1500]


def test_none_of_two_hundred_legitimate_answers_is_stopped():
    answers = list(itertools.islice(legitimate(), 220))
    assert len(answers) >= 200
    assert [text[:60] for text in answers if stops_at(text)] == []


def test_the_same_file_shown_twice_is_no_loop():
    code = Path(ast.__file__).read_text(encoding="utf-8")[:3000]
    assert stops_at(f"Before:\n```\n{code}\n```\nAfter:\n```\n{code}\n```\n") is None


def test_what_was_thought_counts_apart_and_the_reply_is_closed_at_once():
    closed = []

    def reply(*chunks):
        try:
            yield from chunks
        finally:
            closed.append(True)

    again = [Text("No, no, no, ")] * 400
    assert list(without_repetition(reply(*again)))[-1] == Done(FINISH)
    assert list(without_repetition(reply(*[Thinking("So it is. ")] * 400)))[-1] == Done(FINISH)
    once = [Text("No, no. ")] * 8
    whole = [*once, PriorTextWasThinking(), *once, Done()]
    assert list(without_repetition(reply(*whole))) == whole
    assert closed == [True] * 3
