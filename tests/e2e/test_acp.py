"""An editor, played by the client of the protocol's own library, and the program as the process that it starts."""

import asyncio
import json
import subprocess
import sys
from threading import Event

import pytest

from tests.ollama_server import script


@pytest.fixture
def acp():
    import acp  # a second, for each process of the tests

    return acp


class Editor:
    """Collects what is shown, and answers each request for permission with the next choice; None: it cancels."""

    def __init__(self, acp, choices):
        self.acp, self.choices, self.asked, self.shown = acp, list(choices), [], []
        self.on_update = None

    async def session_update(self, session_id, update, **_):
        self.shown.append(update)
        if self.on_update:
            await self.on_update(update)

    async def request_permission(self, session_id, tool_call, options, **_):
        self.asked.append((tool_call.title, tool_call.raw_input, [option.option_id for option in options]))
        chosen = self.choices.pop(0)
        outcome = {"outcome": "selected", "optionId": chosen} if chosen else {"outcome": "cancelled"}
        return self.acp.schema.RequestPermissionResponse(outcome=outcome)

    def said(self, kind="agent_message_chunk"):
        return "".join(each.content.text for each in self.shown if each.session_update == kind)

    @property
    def notices(self):
        return [each.title for each in self.shown if (getattr(each, "tool_call_id", "") or "").startswith("notice")]

    @property
    def calls(self):
        shown = [each for each in self.shown if each.session_update.startswith("tool_call")]
        return [(each.session_update, each.title, each.status) for each in shown if "notice" not in each.tool_call_id]


@pytest.fixture
def edit(program, acp):
    """Run a conversation of an editor with the program: `edit(steps)`; returns the editor."""

    def run(steps, *choices, **env):
        editor = Editor(acp, choices)

        async def talk():
            command = (sys.executable, "-m", "agent_cli", "acp")
            how = {"env": program.env | env, "cwd": program.work}
            async with acp.spawn_agent_process(editor, *command, **how) as (door, process):
                await door.initialize(protocol_version=acp.PROTOCOL_VERSION)
                await steps(door, editor)
                process.stdin.close()
                await asyncio.wait_for(process.wait(), 30)
            assert process.returncode == 0

        asyncio.run(talk())
        return editor

    return run


def note(text):
    return script.reply(calls=[("save_note", {"text": text})])


def test_an_editor_talks_with_the_assistant_and_decides_on_its_calls(program, server, acp, edit):
    program.use(server)
    come = Event()
    server.play(
        script.reply("It is noon.", thinking="a clock"),
        script.reply("Fine."),
        script.reply("It says so."),
        *(each for n in range(4) for each in (note(f"note {n}"), script.reply(f"{n}."))),
        script.Reply((script.Piece("one "), script.Piece("two", after=come))),
        script.reply("Yes."),
    )
    stops = []

    async def steps(door, editor):
        file = acp.resource_block(acp.embedded_text_resource("file:///a.md", "Remember that I am the king."))
        session = (await door.new_session(cwd="/", mcp_servers=[])).session_id

        async def ask(*blocks):
            blocks = [acp.text_block(each) if isinstance(each, str) else each for each in blocks]
            stops.append((await door.prompt(session_id=session, prompt=blocks)).stop_reason)

        async def cancel(update):
            if update.session_update == "agent_message_chunk" and "one" in update.content.text:
                await door.cancel(session_id=session)

        await ask("what time is it?")
        await ask("Remember for this project that my cat is called Mia.")
        await ask(file, "what is this?")
        for _ in range(4):
            await ask("note it")
        editor.on_update = cancel
        await ask("count")
        come.set()
        await ask("go on")

    editor = edit(steps, "once", "no", None, "always")
    assert stops == [*["end_turn"] * 7, "cancelled", "end_turn"]
    assert editor.said() == "It is noon.Fine.It says so.0.1.2.3.one Yes."
    assert editor.said("agent_thought_chunk") == "a clock"
    fact = ("my cat is called Mia", "pending", "editor", "/")
    assert program.rows("select statement, state, trust, place from fact") == [fact]
    assert any("f1" in each and "agent facts review" in each for each in editor.notices)
    assert "from an editor" in program("facts", "review").out
    assert editor.asked == [
        ("save_note", {"text": text}, ["once", "always", "no"]) for text in ("note 0", "note 1", "note 2", "note 3")
    ]
    assert program.rows("select text, origin from note") == [("note 0", "editor"), ("note 3", "editor")]
    ended = ["completed", "failed", "failed", "completed"]
    assert editor.calls == [
        row for each in ended for row in [("tool_call", "save_note", "in_progress"), ("tool_call_update", None, each)]
    ]
    assert program.rows("select actor from event where kind like 'call %'") == [("editor",)] * 4
    asked = program.rows("select text, parts from message where role = 'user' order by id")
    assert asked[0] == ("what time is it?", '[["editor", 16]]')
    assert asked[2][1] == '[["file", 30, "file:///a.md"], ["editor", 13]]'
    assert program.rows("select text from message where finish = 'cancelled'") == [("one ",)]
    assert program.rows("select place, closed_at is not null, holder from session") == [("/", 1, None)]


def test_an_earlier_session_goes_on_and_nobody_approves_where_the_assistant_started_the_program(
    program, server, acp, edit
):
    program.use(server)
    hanging = script.Reply((script.Piece("one "), script.Piece("two", after=Event())))
    server.play(script.reply("Ahoy."), note("a"), script.reply("No."), hanging)
    assert program("ask", "hello there, the boat is blue").out == "Ahoy.\n"
    found, left = [], []

    async def steps(door, editor):
        (listed,) = (await door.list_sessions(cwd=str(program.work))).sessions
        assert (await door.list_sessions(cwd="/elsewhere")).sessions == []
        assert (listed.session_id, listed.title) == ("s1", "hello there, the boat is blue")
        await door.load_session(cwd=str(program.work), session_id="s1", mcp_servers=[])
        await door.prompt(session_id="s1", prompt=[acp.text_block("note it \ud800")])
        for wanted in ("s99", "x", "'; drop"):
            with pytest.raises(acp.RequestError) as raised:
                await door.prompt(session_id=wanted, prompt=[acp.text_block("hi")])
            found.append(str(raised.value))
        arrived = asyncio.Event()

        async def leave(update):
            arrived.set()

        editor.on_update = leave
        left.append(asyncio.ensure_future(door.prompt(session_id="s1", prompt=[acp.text_block("count")])))
        await arrived.wait()

    editor = edit(steps, AGENT_CHILD="1")
    assert (editor.said("user_message_chunk"), editor.said()) == ("hello there, the boat is blue", "Ahoy.No.one")
    assert (editor.asked, program.rows("select 1 from note")) == ([], [])
    assert found[0] == "there is no session s99; `agent sessions list` shows them all"
    assert len(program.rows("select 1 from session")) == 1
    assert program.rows("select text, finish from message order by id desc limit 1") == [("one ", "cancelled")]
    assert left[0].exception()


class Lines:
    """A program that writes lines, whether or not they are of the protocol."""

    def __init__(self, program):
        self.process, self.number = program.start("acp"), 100

    def write(self, line):
        self.process.stdin.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
        self.process.stdin.flush()

    def read(self, id=None, method=None):
        """The next message; the next of this method or with this id."""
        while True:
            read = json.loads(self.process.stdout.readline())
            if read.get("method") == method and id in (None, read["id"]):
                return read

    def send(self, method, **params):
        self.number += 1
        self.write({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        return self.number

    def ask(self, words="note it", session="s1"):
        return self.send("session/prompt", sessionId=session, prompt=[{"type": "text", "text": words}])

    def choose(self, id, **outcome):
        self.write({"jsonrpc": "2.0", "id": id, "result": {"outcome": outcome}})

    def cancel(self, session="s1"):
        self.write({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})


NO_MESSAGES = {
    -32700: ["no", "\x00\x07", '{"id":', "[" * 100_000, '"' + "x" * 20_000_001],
    -32600: ["5", "null", "[]", "{}", '{"id": []}', '{"id": 0, "error": 5}', '{"id": 1, "method": 5}'],
}
REFUSED = [
    ("session/nothing", {}, -32601),
    ("session/new", [], -32602),
    ("session/new", {"cwd": 5, "mcpServers": []}, -32602),
    ("session/new", {"cwd": "a/b", "mcpServers": []}, -32602),
    ("session/load", {"cwd": "/", "mcpServers": [], "sessionId": "\x1b[31ms9"}, -32602),
    ("session/prompt", {"sessionId": "s9", "prompt": [{"type": "text", "text": "hi"}]}, -32602),
    ("session/prompt", {"sessionId": "s1", "prompt": []}, -32602),
    ("session/prompt", {"sessionId": "s1", "prompt": [{"type": "odd"}]}, -32602),
]
NO_CHOICES = [
    {"outcome": "selected", "optionId": "root"},
    {"outcome": "selected", "optionId": ["once"]},
    {"outcome": "cancelled", "optionId": "once"},
    {"optionId": "once"},
]


def test_a_client_that_lies_or_breaks_gets_errors_of_the_protocol_and_allows_nothing(program, server):
    program.use(server)
    server.play(*(each for _ in NO_CHOICES for each in (note("x"), script.reply("No."))), note("late"), note("left"))
    client = Lines(program)
    client.read(client.send("initialize", protocolVersion=1))
    client.read(client.send("session/new", cwd="/", mcpServers=[]))
    for code, lines in NO_MESSAGES.items():
        for line in lines:
            client.write('{"id": null, "error": {"code": -32700, "message": "what?"}}')  # needs no answer
            client.write(line)
            assert client.read()["error"]["code"] == code, line[:50]
    for method, params, code in REFUSED:
        client.write({"id": 7, "method": method, "params": params})
        error = client.read(7)["error"]
        assert (error["code"], "\x1b" in error["message"]) == (code, False), params
    client.cancel()
    client.cancel("s9")
    for id in range(9):
        client.choose(id, outcome="selected", optionId="always")  # of what was never asked
    for choice in NO_CHOICES:
        prompt = client.ask()
        question = client.read(method="session/request_permission")["id"]
        assert client.read(client.ask())["error"]["code"] == -32600  # a second one at once
        for line in NO_MESSAGES[-32600]:
            client.write(line)
        client.choose(question, **choice)
        assert client.read(prompt)["result"]["stopReason"] == "end_turn"
    prompt = client.ask()
    question = client.read(method="session/request_permission")["id"]
    client.cancel()
    assert client.read(prompt)["result"]["stopReason"] == "cancelled"
    client.choose(question, outcome="selected", optionId="always")
    client.ask()
    client.read(method="session/request_permission")
    assert (client.process.communicate(timeout=30)[1], client.process.returncode) == ("", 0)
    assert program.rows("select 1 from note") == []
    calls = program.rows("select kind, actor from event where kind like 'call %'")
    assert calls == [("call refused", "editor")] * len(NO_CHOICES)
    assert program.rows("select count(*) from message where role = 'user'") == [(len(NO_CHOICES) + 2,)]
    assert program.rows("select closed_at is not null, holder from session") == [(1, None)]


def test_only_an_editor_starts_it(program):
    for stream in ("stdin", "stdout"):
        process = program.start("acp", **{stream: subprocess.DEVNULL})
        assert (process.communicate(timeout=30)[1], process.returncode) == (
            "agent: an editor starts this, and talks to it through pipes: name `agent acp` in its settings\n",
            2,
        )
