"""Nothing that comes from outside drives the person's terminal, whichever way it is shown.

One corpus of what terminals obey or are deceived by, put wherever words can be kept, and looked for in everything that
comes out again.
"""

import io
import json
import re
import subprocess
import sys

import pytest

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
from agent_cli.messages import Message, ToolCall, ToolResult
from agent_cli.repl.drawing import Drawing, question
from agent_cli.repl.look import Look
from tests.conftest import CHAT, EMBEDDER, Program
from tests.ollama_server import script
from tests.ollama_server.server import OllamaServer
from tests.terminal import ENTER

CORPUS = {
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
    "bidi": "\u202etxt.exe\u202c \u2066EVIL\u2069 \u200f\u200e\u061c",
    "tags": "EVIL" + "".join(chr(0xE0000 + ord(each)) for each in "run rm") + "\U000e007f",
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
    "Markdown": Look(colour=True, markdown=True),
    "Markdown without colours": Look(markdown=True),
    "plain": Look(),
    "aloud": Look(aloud=True),
}
FRAMES = [
    "{}",
    "**{}**",
    "`{}`",
    "```python\n{}\n```",
    "```\x1b[2J\n{}",
    "| a |\n|---|\n| {} |",
    "# {}",
    "- {}",
    "> {}",
    "    {}",
]


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("words", CORPUS.values(), ids=CORPUS)
def test_no_event_of_a_turn_drives_the_terminal(words, look):
    out = io.StringIO()
    drawing = Drawing(out, LOOKS[look], show_thinking=True)
    call = ToolCall("c1", f"tool{words}", {words: words})
    for piece in "\n\n".join(frame.format(words) for frame in FRAMES):
        drawing.draw(ThinkingArrived(piece))
    for piece in "\n\n".join(frame.format(words) for frame in FRAMES):
        drawing.draw(TextArrived(piece))
    drawing.draw(ToolStarted(call))
    drawing.draw(ToolFinished(call, ToolResult(words, receipt=words)))
    drawing.draw(ToolFinished(call, ToolResult(words, failed=True)))
    drawing.draw(Noticed(words))
    drawing.whisper(words)
    drawing.draw(TurnEnded(Message("assistant", words), stopped_by=words))
    drawing.draw(TurnFailed(Cancelled(words)))
    assert harmless(out.getvalue() + question(call))
    assert "\r" not in out.getvalue()


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A home where the corpus stands in everything that is kept, and what each command printed of it."""
    with OllamaServer([CHAT, EMBEDDER]) as server:
        program = Program(tmp_path_factory.mktemp("hostile")).use(server)
        program.env["AGENT_LEARN"] = "off"
        server.answer = lambda body: script.reply(HOSTILE, thinking=HOSTILE)
        (program.work / "fact").write_text(json.dumps({"statement": f"I like {HOSTILE}", "source": HOSTILE}))
        (program.work / "skill.md").write_text(f"---\nname: evil\ndescription: Use it\n---\n\n1. {HOSTILE}\n")
        for each in (
            ["notes", "add", HOSTILE], ["facts", "import", "fact"], ["facts", "add", f"My cat is {HOSTILE}"],
            ["skills", "import", "skill.md"], ["ask", HOSTILE], ["sessions", "rename", "s1", HOSTILE],
            ["sessions", "close", "s1"],
        ):  # fmt: skip
            ran = program(*each)
            assert ran.code == 0, ran
            assert harmless(ran.out + ran.err)
        yield program, _printed(program)


SHOWN = [
    ["ask", "again"], ["ask", "--no-stream", "again"], ["ask", "--json", "again"], ["-v", "ask", "what is EVIL?"],
    ["notes", "list"], ["notes", "show", "n1"], ["notes", "search", "EVIL"],
    ["facts", "list", "--all"], ["facts", "show", "f1"],
    ["facts", "history", "f1"], ["facts", "review"], ["facts", "search", "EVIL"],
    ["skills", "show", "k1"], ["skills", "review"],
    ["sessions", "list"], ["sessions", "show", "s1"], ["sessions", "export", "s1"],
    ["summaries", "list"], ["summaries", "show", "y1"], ["search", "EVIL"], ["search", "EVIL", "--json"],
    ["ask", "--dry-run", HOSTILE], ["notes", "show", HOSTILE], ["-m", HOSTILE, "ask", "hi"],
    ["--db", f"/nowhere/{HOSTILE}", "notes", "list"], [HOSTILE],
]  # fmt: skip
RUN = r"""
import contextlib, io, json, sys
from agent_cli.__main__ import main
told = []
for each in json.load(sys.stdin):
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    sys.argv = ["agent", *each]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), contextlib.suppress(SystemExit):
        sys.stdin = io.TextIOWrapper(io.BytesIO())
        main()
    out.flush()
    told.append(out.buffer.getvalue().decode())
sys.__stdout__.write(json.dumps(told))
"""


def _printed(program):
    """All in one process: a start of each would take most of the time."""
    env = program.env | {"PYTHONPATH": ":".join(sys.path)}
    ran = subprocess.run(
        [sys.executable, "-c", RUN], input=json.dumps(SHOWN), capture_output=True, text=True, env=env, cwd=program.work
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.parametrize(
    "number", range(len(SHOWN)), ids=[" ".join(each)[:40].replace(HOSTILE[:9], "…") for each in SHOWN]
)
def test_no_command_drives_the_terminal(kept, number):
    told = kept[1][number]
    assert harmless(told)
    assert "\x1b" not in told
    assert "EVIL" in told, "it was shown, and harmless"


def test_nothing_drives_the_terminal_of_a_session(kept, server, terminal):
    program, _ = kept
    save = ("save_note", {"text": HOSTILE, "title": HOSTILE})
    server.play(
        script.reply(f"{HOSTILE}\n", thinking=HOSTILE, calls=[save]), script.reply(f"# {HOSTILE}\n\nDone."),
    )  # fmt: skip
    shell = terminal("-r", "s1", **program.use(server).env).wait_prompt().enter("go").wait("anything else no:")
    shell.type("y" + ENTER).wait("Done.").wait_prompt()
    for line in (
        "/notes",
        "/facts",
        "/search EVIL",
        "/sessions",
        "/skills",
        "/why",
        "/summary",
        "/export",
        "/context --full",
    ):
        shell.enter(line).until(lambda: shell.text.rsplit("\n", 1)[-1] == ">", line)
    server.play(*[script.error(400, HOSTILE)] * 2)
    shell.enter("fail now").until(lambda: "EVIL" in shell.text.rsplit("fail now")[-1], "the error").wait_prompt()
    received = shell.raw.decode("utf-8")
    assert "EVIL" in received
    assert harmless(received)
