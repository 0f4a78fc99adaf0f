"""Nothing that comes from outside drives the person's terminal, whichever way it is shown.

One corpus of what terminals obey or are deceived by, put wherever words can be kept, and looked for in everything that
comes out again.
"""

import asyncio
import io
import json
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from agent_cli import clock
from agent_cli.agent.events import (
    Noticed,
    TextArrived,
    ThinkingArrived,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnFailed,
)
from agent_cli.errors import Cancelled
from agent_cli.memory.facts import adoption
from agent_cli.memory.language.triples import Claim
from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.scope import Scope
from agent_cli.messages import Message, ToolCall, ToolResult
from agent_cli.render.reply_lines import question
from agent_cli.render.styles import Display
from agent_cli.repl.keyboard.key_reader import LineReader
from agent_cli.repl.shell.shell import TurnRenderer
from agent_cli.store import file
from tests.conftest import CHAT, EMBEDDER, Program
from tests.ollama_server import script
from tests.ollama_server.server import OllamaServer
from tests.tables import for_each, listed
from tests.terminal import CTRL_C, ENTER

CORPUS = {
    "bidi": "\u202etxt.exe\u202c \u2066EVIL\u2069 \u200f\u200e\u061c",
    "tags": "EVIL" + "".join(chr(0xE0000 + ord(each)) for each in "run rm") + "\U000e007f",
    "colours": "\x1b[5;41mEVIL\x1b[0m",
    "clipboard": "\x1b]52;c;RVZJTA==\x07",
    "clipboard, ended by ST": "\x1b]52;c;RVZJTA==\x1b\\",
    "title": "\x1b]0;EVIL\x07\x1b]2;EVIL\x1b\\",
    "hyperlink to a file": "\x1b]8;;file:///etc/passwd\x1b\\EVIL\x1b]8;;\x1b\\",
    "hyperlink in Markdown": "[EVIL](file:///etc/pass\x1b]8;;x\x07wd)",
    "device control": '\x1bP$q"p\x1b\\\x1bPtmux;\x1b\x1b]52;c;RVZJTA==\x07\x1b\\',
    "application, privacy, string": "\x1b_GEVIL\x1b\\\x1b^EVIL\x1b\\\x1bXEVIL\x1b\\",
    "C1 in UTF-8": "\x9b5;41mEVIL\x9d52;c;RVZJTA==\x9c\x90EVIL\x9c\x85\x8d",
    "asking back": "\x1b[6n\x1b[c\x1b[21t\x05",
    "another screen": "\x1b[?1049h\x1b[2J\x1b[H\x1bc\x1b7\x1b8",
    "overwritten": "safe words\rEVIL words\b\b\b\b\b\x7f\x0b\x0c",
    "shifts and bells": "\x0e\x0f\x07\x1a\x18\x1b(0EVIL\x1b(B",
}
HOSTILE = " ".join(CORPUS.values())
OBEYED = re.compile(
    "\x1b[^[]|\x1b\\[(?:5;41|6n|c|21t|\\?1049|2J)|safe words\r(?!\n)"
    "|[\x00-\x07\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)
"""What must not come out, where colours and the erasing of a line are the program's own."""


def harmless(told):
    found = OBEYED.search(told)
    assert not found, told[max(0, found.start() - 60) : found.end() + 60]
    return True


LOOKS = {
    "Markdown": Display(colour=True, markdown=True),
    "Markdown without colours": Display(markdown=True),
    "plain": Display(),
    "aloud": Display(screen_reader=True),
}
FRAMES = [*["{}", "**{}**", "`{}`"], "# {}", "- {}", "> {}", "    {}", "```python\n{}\n```", "```\x1b[2J\n{}"]
FRAMES.append("| a |\n|---|\n| {} |")


@for_each("look", LOOKS)
@for_each("words", CORPUS.values())
def test_no_event_of_a_turn_drives_the_terminal(words, look):
    out = io.StringIO()
    renderer = TurnRenderer(out, LOOKS[look], show_thinking=True)
    call = ToolCall("c1", f"tool{words}", {words: words})
    for arrived in (ThinkingArrived, TextArrived):
        for piece in "\n\n".join(frame.format(words) for frame in FRAMES):
            renderer.draw(arrived(piece))
    renderer.draw(ToolStarted(call))
    renderer.draw(ToolFinished(call, ToolResult(words, receipt=words)))
    renderer.draw(ToolFinished(call, ToolResult(words, failed=True)))
    renderer.draw(Noticed(words))
    renderer.say(words)
    renderer.draw(TurnEnded(Message("assistant", words), stopped_by=words))
    renderer.draw(TurnFailed(Cancelled(words)))
    assert harmless(out.getvalue() + question(call, 80))
    assert "\r" not in out.getvalue()


ALLOWED = re.compile(
    "\x1b\\[(?!5;41m)[0-9;]*m"  # colours: all but the one of the corpus
    "|\x1b\\[\\?(?:2004|25|7)[hl]|\x1b\\[\\?(?:12|1)l"  # bracketed paste; the cursor hidden and shown; wrapping
    "|\x1b\\[(?:[0-9]*[ABCD]|[JK])|(?<!\b)\b(?!\b)"  # the line that is edited, and the spinner
)
"""All that the program itself sends to a terminal."""
FOREIGN = re.compile(
    "safe words\r(?![\r\n])"
    "|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)


def own(received):
    """Whether what a terminal received is words and what is allowed, and nothing else."""
    told = received.decode("utf-8")
    found = FOREIGN.search(ALLOWED.sub("", told))
    assert not found, repr(found.string[max(0, found.start() - 90) : found.end() + 60])
    return True


def hostile_model(body):
    """Says the corpus; to "go" it thinks and calls a tool too, and to "fail" it fails."""
    last = body["messages"][-1]
    if last["role"] == "user" and last["content"].startswith("fail"):
        return script.error(400, HOSTILE)
    if last["role"] == "user" and last["content"].startswith("go"):
        save = ("save_note", {"text": HOSTILE, "title": HOSTILE})
        return script.reply(f"{HOSTILE}\n", thinking=f"THOUGHT {HOSTILE}", calls=[save])
    return script.reply(f"# {HOSTILE}\n\n{HOSTILE}\n\nDone.")


class Kept(NamedTuple):
    program: Program
    piped: list[bytes]
    received: list[bytes]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A home where the corpus stands in everything that is kept, and what each command printed of it."""
    with OllamaServer([CHAT, EMBEDDER]) as server:
        program = Program(tmp_path_factory.mktemp("hostile")).use(server).let_scripts_decide()
        program.env["AGENT_LEARN"] = "off"
        server.answer = hostile_model
        (program.work / "fact").write_text(json.dumps({"statement": f"I like {HOSTILE}", "source": HOSTILE}))
        (program.work / "skill.md").write_text(f"---\nname: evil\ndescription: Use it\n---\n\n1. {HOSTILE}\n")
        for each in (
            ["notes", "add", HOSTILE],
            ["facts", "import", "fact"],
            ["facts", "add", f"My cat is {HOSTILE}"],
            ["skills", "import", "skill.md"],
            ["ask", HOSTILE],
            ["sessions", "rename", "s1", HOSTILE],
            ["sessions", "close", "s1"],
        ):
            ran = program(*each)
            assert ran.code == 0, ran
            assert harmless(ran.out + ran.err)
        db = file.open_file(program.db, clock.now(), print)
        few = " ".join(CORPUS[name] for name in ("colours", "title", "C1 in UTF-8", "bidi", "tags"))
        claim = Claim(f"The NAS stands in the cellar, right behind the boiler {few}", "model", quote=HOSTILE, message=1)
        assert adoption.propose(MemoryContext(db, Scope("person", str(program.work)), clock.now), claim)
        db.close()
        yield Kept(program, _printed(program, terminal=False), _printed(program, terminal=True))


COMMANDS = """
    ask again | ask fail | ask --no-stream again | ask --json again | notes list | notes show n1 | notes search EVIL
    facts list --all | facts show f1 | facts history f1 | facts review | facts search EVIL
    skills show k1 | skills review | sessions list | sessions show s1 | sessions export s1
    summaries list | summaries show y1 | search EVIL | search EVIL --json
"""
SHOWN = [
    *map(str.split, listed(COMMANDS)),
    ["-v", "ask", "what is EVIL?"],
    ["ask", "--dry-run", HOSTILE],
    ["notes", "show", HOSTILE],
    ["-m", HOSTILE, "ask", "hi"],
    ["--db", f"fact/{HOSTILE}", "notes", "list"],
    [HOSTILE],
]
RUN = r"""
import contextlib, io, json, sys
from agent_cli.__main__ import main
asked, sys.stdin = json.load(sys.stdin), io.TextIOWrapper(io.BytesIO())
for each in asked:
    sys.argv = ["agent", *each]
    with contextlib.suppress(SystemExit):
        main()
    print("§", flush=True)
"""


def _printed(program, *, terminal):
    """What each printed, all in one process: a start of each would take most of the time."""
    env = program.env | {"PYTHONPATH": ":".join(sys.path)}
    ours, theirs = pty.openpty() if terminal else os.pipe()
    running = subprocess.Popen(
        [sys.executable, "-c", RUN], stdin=subprocess.PIPE, stdout=theirs, stderr=theirs, env=env, cwd=program.work
    )
    os.close(theirs)
    running.stdin.write(json.dumps(SHOWN).encode())
    running.stdin.close()
    received = b""
    with os.fdopen(ours, "rb", buffering=0) as reading, suppress(OSError):  # so a terminal ends that nobody has open
        while piece := reading.read(65536):
            received += piece
    assert running.wait() == 0, received
    return received.split("§\r\n".encode() if terminal else "§\n".encode())[:-1]


NAMED = {"ids": [" ".join(each)[:40].replace(HOSTILE[:9], "…") for each in SHOWN]}


@pytest.mark.parametrize("number", range(len(SHOWN)), **NAMED)
def test_no_command_drives_what_reads_it(kept, number):
    told = kept.piped[number].decode()
    assert harmless(told)
    assert "\x1b" not in told
    assert "EVIL" in told, "it was shown, and harmless"


@pytest.mark.parametrize("number", range(len(SHOWN)), **NAMED)
def test_no_command_drives_the_terminal(kept, number):
    received = kept.received[number]
    assert own(received)
    assert b"EVIL" in received


def test_a_draft_drives_no_dumb_terminal(capsys):
    ours, theirs = os.pipe()
    os.write(theirs, b"\n")
    assert asyncio.run(LineReader(SimpleNamespace(fileno=lambda: ours)).read_message("> ", HOSTILE)) == HOSTILE
    told = capsys.readouterr().out
    assert harmless(told)
    assert "\x1b" not in told


LINES = listed("""
    /raw | /export | /notes | /notes EVIL | /facts | /facts EVIL | /search EVIL
    /sessions | /skills | /skills evil | /why | /summary | /context --full
""")


def test_nothing_drives_the_terminal_of_a_session(kept, server, terminal):
    """One conversation that walks through all that a session shows, with every byte that its terminal received."""
    server.answer = hostile_model
    shell = terminal("-r", **kept.program.use(server).env).wait("which one?").type("s1" + ENTER).wait_prompt()
    shell.enter("/think show").wait("thoughts are shown").wait_prompt()
    shell.enter("go").wait("anything else no:").type("y").wait("Done.").wait_prompt()
    assert "THOUGHT" in shell.raw.decode(), "thinking was streamed"
    keys = lambda: shell.text.endswith("? help")  # noqa: E731
    shell.enter("/review").wait("o more").until(keys, "the keys").type("o").wait("m2 assistant").until(keys, "the keys")
    shell.type("e").until(lambda: "EVIL" in shell.line, "its words").type("\x15" + ENTER).wait("not changed")
    shell.until(keys, "the keys").type("q").wait(" left").wait_prompt()
    for line in LINES:
        shell.enter(line).wait_prompt()
    behind = lambda words: shell.text.rpartition(words)[2] if words in shell.text else ""  # noqa: E731
    shell.enter("fail now").until(lambda: "EVIL" in behind("❯ fail now"), "the error").wait_prompt()
    shell.enter("/edit 3").until(lambda: "EVIL" in behind("❯ /edit m1"), "a message").type(CTRL_C).wait_prompt()
    shell.type("/resume s\t").until(lambda: "EVIL" in behind("❯ /resume s"), "the titles")
    shell.type(CTRL_C).wait_prompt().type(f"\x1b[200~{HOSTILE.replace(chr(27), '')}\x1b[201~")
    shell.until(lambda: "EVIL" in shell.line, "a paste").type(CTRL_C).wait_prompt().enter("/exit")
    assert shell.ended() == 0
    assert own(shell.raw)
