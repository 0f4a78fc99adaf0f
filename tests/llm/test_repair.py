"""What local models get wrong, repaired where there is one reading; a reply without end is stopped."""

import ast
import itertools
import random
import re
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_cli.llm import repair
from agent_cli.llm.chat import ChatSettings
from agent_cli.llm.model import Done, PriorTextWasThinking, Text, Thinking
from agent_cli.llm.ollama import LineParser, OllamaEngine
from agent_cli.llm.repair import FINISH, Repetition, ThinkingParser, without_repetition
from agent_cli.messages import Message, ToolCall
from tests.ollama_server import script
from tests.ollama_server.registry import Model
from tests.ollama_server.server import OllamaServer
from tests.tables import for_each, listed

NAME = "qwen3:8b"
CITY = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
TOOLS = [
    {"name": "weather", "description": "", "parameters": CITY},
    {"name": "now", "description": "", "parameters": {"type": "object", "properties": {}}},
]
SCHEMAS = {tool["name"]: tool["parameters"] for tool in TOOLS}


@pytest.fixture(scope="module")
def server():
    with OllamaServer(models=[Model(NAME, capabilities=("completion", "tools", "thinking"))]) as it:
        yield it


@pytest.fixture
def reply(server):
    """What comes of a content sent in these pieces."""

    def ask(*pieces, tools=TOOLS, **message):
        server.play(script.pieces(*map(script.Piece, pieces)))
        return list(OllamaEngine(server.host, ChatSettings(4096)).chat(NAME).reply([Message("user", "hi")], tools))

    return ask


def text(chunks):
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, Text))


def thinking(chunks):
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, Thinking))


def calls(chunks):
    return [(chunk.name, chunk.arguments) for chunk in chunks if isinstance(chunk, ToolCall)]


def letters(content):
    return list(content)


# Calls printed as text.

PRINTED = [
    *listed("""{"name": "weather", "arguments": {"city": "Paris"}}
    {"name": "weather", "parameters": {"city": "Paris"}} | {"arguments": {"city": "Paris"}, "name": "weather"}
    {"type": "function", "function": {"name": "weather", "parameters": {"city": "Paris"}}}
    {"function": {"name": "weather", "arguments": {"city": "Paris"}}}
    {"tool_calls": [{"name": "weather", "arguments": {"city": "Paris"}}]}
    <tool_call>{"name": "weather", "arguments": {"city": "Paris"}}"""),
    '\n {"function": "weather", "arguments": {"city": "Paris"}}\n',
    '{"tool": "weather", "arguments": "{\\"city\\": \\"Paris\\"}"}',
    '```json\n{"name": "weather", "arguments": {"city": "Paris"}}\n```',
    '```\n{"name": "weather", "arguments": {"city": "Paris"}}\n```\n',
    '<tool_call>\n{"name": "weather", "arguments": {"city": "Paris"}}\n</tool_call>',
]


@pytest.mark.parametrize("content", PRINTED)
@pytest.mark.parametrize("cut", [letters, script.in_words, lambda content: [content]])
def test_call_printed_as_the_whole_answer_is_a_call(reply, content, cut):
    chunks = reply(*cut(content))
    assert calls(chunks) == [("weather", {"city": "Paris"})]
    assert text(chunks) == ""
    assert chunks[-1] == Done("stop", NAME, chunks[-1].tokens_in, chunks[-1].tokens_out)


def test_several_printed_calls_are_all_calls(reply):
    block = '<tool_call>\n{"name": "weather", "arguments": {"city": "%s"}}\n</tool_call>\n'
    chunks = reply(*letters(block % "Paris" + block % "Rome"))
    assert calls(chunks) == [("weather", {"city": "Paris"}), ("weather", {"city": "Rome"})]
    assert len({chunk.id for chunk in chunks if isinstance(chunk, ToolCall)}) == 2


SHOWN = [
    *listed("""{"name": "Alice", "age": 7} | {"name": "weather"}
    {"name": "weather", "arguments": {"city": "Paris"}, "mood": "good"} | {"name": "fly", "arguments": {}}
    {"name": "weather", "arguments": ["Paris"]}
    {"name": "weather", "arguments": {"city": "Paris"}} is what I would call.
    I would call {"name": "weather", "arguments": {"city": "Paris"}} | {"answer": 42} | {} | { not json | ```
    {"type": "object"} | <tool_call>{"name": "fly", "arguments": {}}</tool_call> | <tool_calling> is a word
    {"name": "weather", "arguments": {"city": "Par"""),
    '```json\n{"name": "weather", "arguments": {}}\n```\nThat is the call.',
    '```python\nprint("hello")\n```',
    "```\nls -l\n```",
    " \n",
]


@pytest.mark.parametrize("content", SHOWN)
@pytest.mark.parametrize("cut", [letters, lambda content: [content]])
def test_everything_else_is_shown_as_it_came(reply, content, cut):
    chunks = reply(*cut(content))
    assert text(chunks) == content
    assert calls(chunks) == []


@pytest.mark.parametrize(
    "content",
    [
        "<tool_call>",
        '<tool_call>\n{"name": "weather", "argum',
        '<tool_call>{"name": "weather", "arguments": {"city": "Par</tool_call>',
    ],
)
def test_a_call_in_tags_that_was_cut_is_no_answer(reply, content):
    chunks = reply(*letters(content))
    assert (text(chunks), calls(chunks)) == ("", [])
    assert thinking(chunks) == content


def test_without_tools_nothing_is_a_call(reply):
    assert text(reply(PRINTED[0], tools=())) == PRINTED[0]


def test_printed_call_beside_a_real_one_is_text(server):
    said = {"content": PRINTED[0], "tool_calls": [{"function": {"name": "now", "arguments": {}}}]}
    server.play(script.raw(script.line(**said), script.line(done=True)))
    chunks = list(OllamaEngine(server.host, ChatSettings(4096)).chat(NAME).reply([Message("user", "hi")], TOOLS))
    assert (text(chunks), calls(chunks)) == (PRINTED[0], [("now", {})])


@for_each(
    "content",
    [
        '{"name": "Alice", "children": [1, 2, 3], "street": "a long street"}',
        '{"parameters": 5, "more": "and so on and on and on and on and on and on"}',
        '{"items": ["one", "two"]}',
        "```python\nfor line in file:\n    print(line)\n```",
        "```json\n[1, 2, 3]\n```",
        '{"name": "weather", "arguments": {}}\n\nIn Paris the sun shines, and tomorrow it will, too.',
    ],
)
def test_json_and_code_are_held_back_for_sixty_characters_at_most(content):
    reading = LineParser(NAME, TOOLS, ())
    shown = ""
    for count, letter in enumerate(content, 1):
        shown += text(reading.feed(script.line(letter)))
        assert shown == content[:count] or count <= 60, f"only {shown!r} of {count} characters"


# Arguments.


@for_each(
    ("given", "meant"),
    [
        ({"city": "Paris"}, {"city": "Paris"}),
        ('{"city": "Paris"}', {"city": "Paris"}),
        ({"arguments": {"city": "Paris"}}, {"city": "Paris"}),
        ({"parameters": '{"city": "Paris"}'}, {"city": "Paris"}),
        ({"days": "5"}, {"days": 5}),
        ({"days": 5.0}, {"days": 5}),
        ({"days": "five"}, {"days": "five"}),
        ({"days": "5.5"}, {"days": "5.5"}),
        ({"city": 75001}, {"city": "75001"}),
        ({"cityText": "Paris"}, {"city": "Paris"}),
        ({"minimumDays": 5}, {"minimumDays": 5}),
        ({"wind": "north", "city": "Paris"}, {"wind": "north", "city": "Paris"}),
        (None, {}),
        ("", {}),
        ("nonsense", {}),
        ([1], {}),
    ],
)
def test_arguments_are_what_they_were_meant_to_be(given, meant):
    assert repair.coerce_arguments(given, CITY) == meant


@for_each(
    ("kind", "given", "meant"),
    [
        ("boolean", "True", True),
        ("boolean", "no", "no"),
        ("boolean", True, True),
        ("number", "1.5", 1.5),
        ("number", "1", 1),
        ("integer", True, True),
        ("array", '["a"]', ["a"]),
        ("object", '{"a": 1}', {"a": 1}),
        (["integer", "null"], "7", 7),
        (["integer", "null"], "null", None),
        (["integer", "null"], "five", "five"),
        (["string", "integer"], "7", "7"),
        ("unheard-of", "x", "x"),
    ],
)
def test_values_take_the_type_of_the_schema_where_that_is_plain(kind, given, meant):
    schema = {"type": "object", "properties": {"it": {"type": kind}}}
    value = repair.coerce_arguments({"it": given}, schema)["it"]
    assert value == meant
    assert type(value) is type(meant)


def test_own_argument_called_arguments_is_not_unwrapped():
    schema = {"properties": {"arguments": {"type": "object"}}}
    assert repair.coerce_arguments({"arguments": {"a": 1}}, schema) == {"arguments": {"a": 1}}


# Thinking inside the answer.


@pytest.mark.parametrize("cut", [letters, script.in_words, lambda content: [content]])
@pytest.mark.parametrize(
    ("content", "thought", "answer"),
    [
        ("<think>\nlet me see\n</think>\n\n42", "let me see\n", "42"),
        ("\n<think></think>\n42", "", "42"),
        ("<think>a < b </thin </think>yes", "a < b </thin ", "yes"),
        ("<think>never closed", "never closed", ""),
        ("<thinker> is no tag", "", "<thinker> is no tag"),
        ("<", "", "<"),
        ("a <b> and </b>", "", "a <b> and </b>"),
        ("Write `<think>` and `</think>` around it.", "", "Write `<think>` and `</think>` around it."),
        ("A `</think>` closes it.", "", "A `</think>` closes it."),
        ("so <think> opens and </think> closes", "", "so <think> opens and </think> closes"),
        ("<think>x</think>then </think> is a word", "x", "then </think> is a word"),
    ],
)
def test_thinking_block_is_told_from_the_answer(reply, cut, content, thought, answer):
    chunks = reply(*cut(content))
    assert (thinking(chunks), text(chunks)) == (thought, answer)
    assert PriorTextWasThinking() not in chunks


@pytest.mark.parametrize("cut", [letters, lambda content: [content]])
def test_closing_tag_alone_takes_back_what_came_before_once(reply, cut):
    chunks = reply(*cut("They greet me.\n</think>\n\nHello </think> there"))
    at = chunks.index(PriorTextWasThinking())
    assert text(chunks[:at]) == "They greet me.\n"
    assert text(chunks[at:]) == "Hello </think> there"
    assert chunks.count(PriorTextWasThinking()) == 1


def test_call_printed_after_the_thinking_is_a_call(reply):
    assert calls(reply(*letters("<think>look it up</think>" + PRINTED[0]))) == [("weather", {"city": "Paris"})]
    assert calls(reply(*letters("look it up</think>" + PRINTED[0]))) == [("weather", {"city": "Paris"})]


def test_closing_tag_after_thinking_of_its_own_is_a_word(server):
    server.play(script.pieces(script.Piece(thinking="hm"), script.Piece("the tag </think> ends it")))
    chunks = list(OllamaEngine(server.host, ChatSettings(4096)).chat(NAME).reply([Message("user", "hi")]))
    assert text(chunks) == "the tag </think> ends it"


FRAGMENTS = st.lists(
    st.sampled_from(
        ["<think>", "</think>", "<", "</", "think", ">", " ", "\n", "a", "`", "```json\n", "{", '"name"', ":"]
    ),
    max_size=12,
)


@given(FRAGMENTS, st.integers(1, 5))
def test_cutting_a_content_differently_changes_nothing_but_the_pieces(fragments, size):
    content = "".join(fragments)

    def parsed(pieces):
        thoughts, merged = ThinkingParser(), []
        for chunk in [chunk for piece in pieces for chunk in thoughts.feed(piece)] + thoughts.flush():
            if merged and type(merged[-1]) is type(chunk) and not isinstance(chunk, PriorTextWasThinking):
                merged[-1] = type(chunk)(merged[-1].text + chunk.text)
            else:
                merged.append(chunk)
        return merged

    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    assert parsed(pieces) == parsed([content])


@given(st.text(alphabet='{}"`<>/_ \n:namefunctolcjsw', max_size=40))
def test_no_text_is_lost_while_it_is_held(content):
    printed = repair.PrintedCallDetector(SCHEMAS)
    shown = [*printed.feed(map(Text, content)), *printed.flush()]
    assert text(shown) == content


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
