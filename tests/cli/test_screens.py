"""Every command at a terminal: no word is broken and none is lost, in windows of any width; and what they look like.

The commands run in this process, on a real pseudo-terminal. The screens that people look at most are compared whole,
with the codes of their styles; `pytest --update-docs` writes them anew.
"""

import fcntl
import os
import re
import struct
import termios
import threading
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import pytest

from agent_cli.cli import usage
from agent_cli.cli.main import app
from agent_cli.render.layout import cell_width
from tests.conftest import Program

NOW = "2026-11-23T09:30:00+01:00"
STYLE = re.compile(r"\x1b\[([\d;]*)m")
GOLDEN = Path(__file__).parent / "screens"
FACTS = (
    "I live in Graz.",
    "My sister Anna works at the hospital in Linz.",
    "Anna's dentist is Dr. Huber in Linz.",
    "I am allergic to penicillin, to hazelnuts and to the pollen of birch trees in the early spring.",
)
LINES = """\
facts list, facts show f3, facts history f3, facts graph Anna, facts show f99, facts review, notes list, \
notes show n1, tasks, tasks show t2, tasks snooze t1, sessions list, sessions show s1, search dentist, \
search --explain dentist, why, \
stats, log, models, jobs list, config show --origin, index status, summaries list, skills list, schedule list, \
retention, docs list, db path, db check, mcp list, forget"""
LISTS = "facts list, notes list, tasks, sessions list, search dentist, log"
SCREENS = [line.split() for line in LINES.split(", ")]
HELP = [[name, "--help"] for name in usage.COMMANDS] + [["facts", "approve", "--help"], ["search", "--help"]]
PAGES = ("search", "sessions", "why")  # these say at a terminal what a pipe has in other words
LOOKED_AT = "facts list, facts graph Anna, tasks, sessions list, search dentist, why, notes list, facts show f99"
SHOWN = LOOKED_AT.split(", ")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    program = Program(tmp_path_factory.mktemp("screens"))
    program.env |= {"AGENT_NOW": NOW, "TZ": "Europe/Vienna"}
    program("notes", "add", "milk, bread and a new bicycle pump for the long trip along the river Danube")
    program.let_scripts_decide()
    for fact in FACTS:
        assert program("facts", "add", fact).code == 0
    program("remind", "call the dentist friday 3pm")
    program("remind", "water the plants every monday 8:00")
    program("remind", "send the tax declaration with all its enclosures to the office on 2026-11-23 10:00")
    program("ask", "My dentist has moved his practice to a small street near the harbour.")
    program("ask", "Where does Anna work?")
    program.env["AGENT_NOW"] = "2026-11-24T10:00:00+01:00"
    return program


def run(program, monkeypatch, arguments, width=None, **env):
    """What the command prints, on standard output and standard error together; without a width in a pipe."""
    for name, value in {**program.env, **env, **({"COLUMNS": str(width)} if width else {})}.items():
        monkeypatch.setenv(name, value)
    if not width:
        monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.chdir(program.work)
    read, write = os.openpty() if width else os.pipe()
    if width:
        fcntl.ioctl(write, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    pieces: list[bytes] = []
    reader = threading.Thread(target=lambda: _drain(read, pieces))
    reader.start()
    with (
        os.fdopen(write, "w", encoding="utf-8") as out,
        redirect_stdout(out),
        redirect_stderr(out),
        suppress(SystemExit),
    ):
        app([*arguments], prog_name="agent")
    reader.join()
    os.close(read)
    return b"".join(pieces).decode().replace("\r\n", "\n")


PIPED: dict[tuple[str, ...], str] = {}


def piped(program, monkeypatch, arguments):
    """What the command prints in a pipe; run once."""
    if (*arguments,) not in PIPED:
        PIPED[(*arguments,)] = run(program, monkeypatch, arguments)
    return PIPED[(*arguments,)]


def _drain(read, pieces):
    while True:
        try:
            piece = os.read(read, 65536)
        except OSError:  # the other end of the terminal is closed
            return
        if not piece:
            return
        pieces.append(piece)


def words(text):
    """The words and signs that a reader could search for, without what only a terminal or only a pipe shows."""
    return set(re.findall(r"[^\s─-╿·✓✗?]+", STYLE.sub("", text)))


@pytest.mark.parametrize("width", [50, 80, 120, 200])
def test_no_word_is_broken_and_none_is_lost(width, home, monkeypatch):
    for arguments in SCREENS:
        shown = run(home, monkeypatch, arguments, width)
        assert _too_long(shown, width) == [], arguments
        if arguments[0] not in PAGES:
            lost = words(piped(home, monkeypatch, arguments)) - words(shown)
            assert lost <= {"agent:", "day"}, arguments  # a record begins with its day, without the heading


def test_in_a_pipe_each_row_of_a_list_is_one_line_that_begins_with_its_handle(home, monkeypatch):
    for command in LISTS.split(", "):
        lines = run(home, monkeypatch, command.split()).splitlines()
        assert [line for line in lines if not re.match(r"[a-z]\d+ ", line)] == [], command
        assert lines, command


def test_no_word_of_a_help_is_broken_in_a_narrow_window(home, monkeypatch):
    for arguments in HELP:
        shown = run(home, monkeypatch, arguments, 50)
        assert _too_long(shown, 50) == [], arguments
        broken = words(shown) - words(piped(home, monkeypatch, arguments))
        assert {word for word in broken if not word.endswith("...")} == set(), arguments


def _too_long(shown, width):
    """The lines that the terminal would break, but for those with a word that has no room in any line."""
    lines = [line for line in STYLE.sub("", shown).split("\n") if cell_width(line) > width]
    return [line for line in lines if max(map(cell_width, line.split())) < width // 2]


LOOKS = ("", " NO_COLOR", " ACCESSIBLE", " TERM=dumb")


@pytest.mark.parametrize("look", [*(f"{width}{look}" for width in (50, 80, 120) for look in LOOKS), "200"])
def test_the_screens_people_look_at_most(look, home, monkeypatch, request):
    width, *options = look.split()
    env = {name: value or "1" for name, _, value in (option.partition("=") for option in options)}
    shown = "".join(
        f"$ agent {line}\n{_with_roles(run(home, monkeypatch, line.split(), int(width), **env))}\n" for line in SHOWN
    )
    file = GOLDEN / f"{look.replace(' ', '-').replace('=', '-')}.txt"
    if request.config.getoption("update_docs"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(shown, encoding="utf-8")
    assert shown == file.read_text(encoding="utf-8")


def _with_roles(text):
    return STYLE.sub(lambda code: f"⟨{code[1]}⟩", text)
