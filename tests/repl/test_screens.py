"""What stands on the screen in a session, whole, with the codes of its styles, in windows of any width.

Everything is drawn in this process, by the code that draws it at a terminal. `pytest --update-docs` writes the files
anew. What /why says depends on the weights of recall; tests/cli compares it.
"""

import asyncio
import io
import re
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from prompt_toolkit.output.vt100 import Vt100_Output

from agent_cli.agent.events import ApprovalNeeded
from agent_cli.app import upkeep
from agent_cli.app.app import open_app
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.facts import adoption
from agent_cli.messages import ToolCall
from agent_cli.render import markdown
from agent_cli.render.layout import cell_width
from agent_cli.render.styles import Display
from agent_cli.repl.commands import session_commands
from agent_cli.repl.commands.commands import registry
from agent_cli.repl.keyboard import key_reader
from agent_cli.repl.shell.shell import LineBelow, Shell
from tests.cli.test_screens import STYLE
from tests.pictures.screen import Window
from tests.tables import listed

SCREENS = Path(__file__).parent / "screens"
WIDTHS = (50, 80, 120)
LOOKS = {
    "colour": {"colour": True, "weight": True, "markdown": True, "spinner": True, "wrap": True},
    "NO_COLOR": {"weight": True, "markdown": True, "spinner": True, "wrap": True},
    "plain": {"wrap": True},
    "screen-reader": {"screen_reader": True},
}
FACTS = (
    "I live in Graz.",
    "My sister Anna works at the hospital in Linz.",
    "Anna's dentist is Dr. Huber in Linz.",
    "I am allergic to penicillin, to hazelnuts and to the pollen of birch trees in the early spring.",
)
SAID = (
    "My dentist has moved his practice to a small street near the harbour, on the third floor above the bakery.",
    "Where does Anna work?",
)
LINES = (
    "/note milk, bread and a new bicycle pump for the long trip along the river Danube",
    "/remind call the dentist friday 3pm",
    "/remind water the plants every monday 8:00",
    "/remind send the tax declaration with all its enclosures to the office on 2026-11-23 10:00",
)
COMMAND_LINES = listed("""
    /facts | /facts Anna | /search dentist | /show m1 | /tasks | /sessions | /stats | /log | /context
    /help | /help search | /search piano | /hlep
""")
ANSWER = "Two things to buy:\n\n- bread\n- milk, which stands in the door of the fridge\n\nThat is **all**.\n"
NOT_ALONE = {  # they change the session, or what they show is copied
    *("/close", "/edit", "/editor", "/exit", "/incognito", "/new", "/resume", "/retry", "/review", "/undo"),
    *("/update", "/vim"),
    "/keys",
}
CALLS = (
    ToolCall(
        "1", "create_reminder", {"text": "call the dentist", "due": "friday 3pm"}, {"due": "Fri 27 Nov 2026, 15:00"}
    ),
    ToolCall("2", "save_note", {"text": "\n".join(f"line {n} of a long text" for n in range(1, 30))}),
)


@contextmanager
def opened(folder):
    """A file in which something was said and kept yesterday."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        patch.setenv("AGENT_NOW", "2026-11-23T09:30:00+00:00")
        patch.chdir(folder)
        environ = {
            "AGENT_DB": str(folder / "memory.db"),
            "AGENT_MODEL": "offline",
            "AGENT_HOST": "127.0.0.1:9",
            "AGENT_BACKGROUND_JOBS": "false",
            "AGENT_IDLE_SECONDS": "9999",
        }
        app = open_app({}, print, config_file=folder / "none.toml", environ=environ)
        for fact in FACTS:
            adoption.add(app.memory, adoption.claim(fact, "typed"))
        upkeep.after_turn(app, app.db)
        at_shell(app, Display(), *LINES, *SAID)
        app.db.execute("update message set duration_ms = 40 where role = 'assistant'")
        for line in (*LINES, *SAID):
            log.add_prompt(app.db, app.scope, None, line, app.time())
        patch.setenv("AGENT_NOW", "2026-11-24T10:00:00+00:00")
        yield app
        app.db.close()
    time.tzset()


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("screens")) as app:
        yield app


def at_shell(app, display, *lines, do=None):
    """What a person sees who types these lines, or when `do` is done with the shell."""

    async def key(question, stop, *, key):
        print(f"{question}n")
        return "n"

    async def sit(shell):
        for line in lines:
            print(f"❯ {line}")
            await shell._run_line(line)
            print()
        if do:
            await do(shell)

    shown = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, create_pipe_input() as keyboard:
        patch.setattr("sys.stdout", shown)
        with create_app_session(input=keyboard, output=DummyOutput()):
            shell = Shell(app, None, display)
            shell._prompt.answer = key
            asyncio.run(sit(shell))
            shell._jobs.end(1)
            shell._warmer.end()
    return shown.getvalue()


def asked(app, display):
    """The questions whether tools may be called."""

    async def ask(shell):
        for call in CALLS:
            await shell._ask(ApprovalNeeded(call, lambda answer: None), lambda: None)
            print()

    return at_shell(app, display, do=ask)


def resumed(app, display):
    async def show(shell):
        shell._show_resumed(sessions.latest(app.db, app.scope.owner))

    return at_shell(app, display, do=show)


def typed_below(display):
    """An answer that comes, while somebody types."""
    window = Window(display.width(), 12)
    below = LineBelow(window, display)
    writer = markdown.answer_writer(below, display)
    writer.write(ANSWER)
    below.show("and what about the butter? " * 5)
    return window.shown()


def picked(offered, width, monkeypatch):
    """The list when it comes, with what is typed in it, and when nothing has the words."""
    monkeypatch.setattr(key_reader, "_width", lambda: width - 1)
    window = Window(width, 24)
    output = Vt100_Output(window, lambda: Size(rows=24, columns=width), term="xterm", enable_cpr=False)
    shots = []

    async def sit(keyboard):
        screen = key_reader.Screen(offered).application()
        running = asyncio.create_task(screen.run_async())
        for piece in ("", "dentist", "\x15piano"):
            drawn = screen.render_counter
            keyboard.send_text(piece)
            while screen.render_counter == drawn or piece.lstrip("\x15") != screen.current_buffer.text:
                await asyncio.sleep(0.001)
            shots.append(window.shown())
        keyboard.send_text("\x03")
        assert await running == ""

    with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=output):
        asyncio.run(sit(keyboard))
    assert window.shown().strip() == "", "the list leaves no trace"
    return "\n".join(shots)


def numbered(offered, width, monkeypatch):
    """The list where nothing can be drawn over: its first line is taken by its number."""

    async def first(keyboard):
        keyboard.send_text("1\r")
        return await key_reader.choose(offered)

    shown = io.StringIO()
    with monkeypatch.context() as patch, create_pipe_input() as keyboard:
        patch.setenv("ACCESSIBLE", "1")
        patch.setattr("sys.stdout", shown)
        with create_app_session(input=keyboard, output=DummyOutput()):
            assert asyncio.run(first(keyboard)) == offered.rows[0].key
    return shown.getvalue()


def session_list(app, monkeypatch):
    taken = []

    async def take(offered):
        taken.append(offered)
        return ""

    with monkeypatch.context() as patch:
        patch.setattr(key_reader, "choose", take)
        assert asyncio.run(session_commands.choose(app)) is None
    return taken[0]


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("width", WIDTHS)
def test_what_stands_on_the_screen(width, look, app, monkeypatch, request):
    display = Display(**LOOKS[look], width=lambda: width)
    parts = {
        "the start of a session that goes on": resumed(app, display),
        "commands": at_shell(app, display, *COMMAND_LINES),
        "the question before a tool is called": asked(app, display),
    }
    if display.spinner:
        parts["typing while an answer comes"] = typed_below(display)
    choose = picked if display.spinner else numbered
    parts["agent -r"] = choose(session_list(app, monkeypatch), width, monkeypatch)
    parts["Ctrl-R"] = choose(key_reader.offered_lines(log.recent_prompts(app.db, "person", 99)), width, monkeypatch)
    shown = "\n".join(f"── {name}\n{STYLE.sub(lambda code: f'⟨{code[1]}⟩', part)}" for name, part in parts.items())
    file = SCREENS / f"{width}-{look}.txt"
    if request.config.getoption("update_docs"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(shown, encoding="utf-8")
    assert shown == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [50, 120])
def test_no_word_is_broken_by_any_command(width, tmp_path):
    alone = [name for name in registry() if name not in NOT_ALONE]
    lines = [*alone, *(f"/help {name}" for name in alone), *COMMAND_LINES]
    with opened(tmp_path) as app:
        whole = at_shell(app, Display(markdown=True), *lines)
        wrapped = at_shell(app, Display(markdown=True, weight=True, wrap=True, width=lambda: width), *lines)
    too_long = [line for line in STYLE.sub("", wrapped).split("\n") if cell_width(line) > width and line[:1] != "❯"]
    assert [line for line in too_long if max(map(cell_width, line.split())) < width // 2] == []
    broken = words(wrapped) - words(whole)
    assert {word for word in broken if not word.replace(".", "").isdigit()} == set(), "the free disk changes meanwhile"


def words(shown):
    return set(re.findall(r"[^\s─-▟·✓✗?❯]+", STYLE.sub("", shown)))
