"""/search, /metrics, /events: what a caller may look at, and what it never sees."""

import json
import re

import anyio
import pytest

from agent_cli.app import turns
from agent_cli.memory.conversations import callers, sessions
from agent_cli.memory.planner import notes
from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.reports import records
from agent_cli.memory.scope import PERSON, Scope
from agent_cli.memory.skills import skills
from agent_cli.memory.summaries import summaries
from agent_cli.messages import ToolCall
from agent_cli.serve import http, routes
from agent_cli.store import events as log
from agent_cli.tools import registry
from agent_cli.tools import tool as tools
from tests.ollama_server import script
from tests.serving import heard, opened, served
from tests.tables import columns, listed


def test_search_finds_what_was_said_with_its_session_and_no_score(bot, server):
    server.answer = None
    server.play(script.reply("A fine name."))
    bot.chat("My boat is called Windrose.")
    told = bot.get("/search", params={"q": "What is my boat called?", "kind": "message"}).json()
    assert told["verdict"] == "known"
    found = [(hit["kind"], hit["id"], hit["session"], hit["text"], hit["label"]) for hit in told["hits"]]
    assert ("message", "m1", "s1", "My boat is called Windrose.", "") in found
    assert set(told["hits"][0]) == {"kind", "id", "session", "at", "text", "label"}
    nothing = {"query": "xylophone zebra", "verdict": "nothing", "hits": []}
    assert bot.get("/search", params={"q": "xylophone zebra"}).json() == nothing


def samples(text):
    """Each line but comments, as (name and labels, value)."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            match = re.fullmatch(r'([a-z_]+(?:\{[a-z_]+="[^"\\]*"(?:,[a-z_]+="[^"\\]*")*\})?) ([0-9.e+-]+)', line)
            assert match, line
            found[match[1]] = float(match[2])
    return found


def test_metrics_tell_turns_tokens_and_tools(house, bot, server):
    server.answer = None
    server.play(
        script.reply("", calls=[("save_note", {"text": "milk"}), ("read_jottings", {}), ("made_up_canary", {})]),
        script.reply("so"),
    )
    bot.chat("hi")
    answer = bot.get("/metrics")
    told = samples(answer.text)
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert told['agent_turns_total{caller="bot",finish="stop"}'] == 1
    assert told['agent_tokens_in_total{caller="bot"}'] > 0
    assert {name: value for name, value in told.items() if "tool_calls" in name} == {
        'agent_tool_calls_total{caller="bot",ruling="refused",tool="save_note"}': 1,
        'agent_tool_calls_total{caller="bot",ruling="allowed",tool="read_jottings"}': 1,
        'agent_tool_calls_total{caller="bot",ruling="unknown",tool="other"}': 1,
    }
    assert len(told) == 6


def test_metrics_of_another_are_seen_by_the_person_alone(house, bot):
    mine = house.caller("mine", mine=True)
    bot.chat("hi")
    mine.chat("hi")
    assert 'caller="mine"' not in bot.get("/metrics").text
    assert "agent_jobs" not in bot.get("/metrics").text
    told = mine.get("/metrics").text
    assert 'caller="bot"' in told
    assert "agent_jobs{state=" in told
    assert "agent_turns_running 0" in told


def read(house, caller_name, since, many):
    """So many events of the stream of this caller, and what it says first."""
    caller = callers.get(house.db, caller_name)

    async def some():
        stream, found = routes._log(house.house, caller, since), []
        async for piece in stream:
            found.append(piece)
            if len(found) > many:
                break
        await stream.aclose()
        return found

    comment, *found = anyio.run(some)
    assert comment.startswith(":")
    return [(re.search(r"id: (\w+)", piece)[1], json.loads(piece.split("data: ")[1])) for piece in found]


def test_events_are_those_of_the_caller_and_go_on_where_they_were_left(house, bot, server):
    server.answer = None
    server.play(script.reply("", calls=[("read_jottings", {})]), script.reply("so"))
    bot.chat("hi")
    server.answer = heard
    bot.chat("Remember that my boat is called Windrose.", "s1")
    notes.add(house.db, Scope(PERSON, ""), "secret", house.app.time)
    seen = read(house, "bot", 0, 8)
    assert [f"{each['kind']} {each['subject']}" for _, each in seen] == listed("""session started s1 | message m1
        reply with calls m2 | call allowed read_jottings | reply m4 | message m5 | fact proposed f1 | reply m6""")
    first = seen[3]
    assert read(house, "bot", int(first[0][1:]), 4) == seen[4:]
    assert set(first[1]) == {"id", "kind", "actor", "session", "subject", "hash", "at"}


def test_no_event_is_seen_by_two_owners(house, bot):
    other, mine = house.caller("other"), house.caller("mine", mine=True)
    for each in (bot, other, mine):
        each.chat("Remember that my boat is called Windrose.")
    log.append(house.db, house.app.time, "restored", "memory.db", actor="person")
    log.append(house.db, house.app.time, "forgotten", "f99", actor="person")
    seen = [
        {event["id"] for event in records.events_after(house.db, owner, 0)[0]}
        for owner in ("caller:bot", "caller:other", PERSON)
    ]
    assert all(seen)
    assert sum(map(len, seen)) == len(set.union(*seen)) == house.db.value("select count(*) from event")


# Two callers never see each other's words.

CANARY = "Quetzalcoatlus"


def full_of_canaries(house, owner, caller):
    """A memory that holds the word in everything there is."""
    scope, time = Scope(owner, "http:full"), house.app.time
    caller.chat(f"My dragon is called {CANARY}. Remember that my dragon is called {CANARY}.")
    caller.post("/v1/chat/completions", {"messages": [{"role": "user", "content": f"{CANARY}, my friend"}]})
    notes.add(house.db, scope, f"{CANARY} eats fish", time)
    caller.post("/tasks", {"text": f"feed {CANARY} dragon fish"})
    section(house.db, owner)
    skills.propose(
        MemoryContext(house.db, Scope(owner, ""), time),
        f"---\nname: feed-dragon\ndescription: Feed {CANARY}.\n---\n1. Call {CANARY}.\n",
        origin="model",
        trust="typed",
    )
    house.db.execute("update fact set state = 'accepted' where owner = ?", (owner,))
    house.db.execute("update skill set state = 'accepted' where owner = ?", (owner,))
    summaries.save_session(house.db, 1, summaries.NewSummary(f"They spoke of {CANARY}.", "", "model", "x"), time)


def section(db, owner):
    """A piece of a document."""
    for table, named, values in (
        ("collection", "uid, place, pattern", "'c', '', '/x'"),
        ("document", "uid, collection_id, path, size, changed_ns, read_at", "'d', 1, '/x', 1, 1, '2026'"),
        ("section", "document_id, position, line, text", f"1, 0, 1, 'The dragon {CANARY} likes fish.'"),
    ):
        then = "'2026-01-01T00:00:00.000Z', 0"
        db.execute(f"insert into {table} (owner, at, utc_offset, {named}) values (?, {then}, {values})", (owner,))


@pytest.fixture(params=["own", "person"])
def two(request, house):
    """One caller whose memory holds the word everywhere, and another who asks for it."""
    full = house.caller("full", mine=request.param == "person")
    full_of_canaries(house, "person" if request.param == "person" else "caller:full", full)
    return house, full, house.caller("curious")


def test_no_route_gives_another_callers_words(two, server):
    house, full, curious = two
    assert CANARY in full.get("/search", params={"q": "dragon"}).text
    get = ("/search?q=dragon+fish+friend", "/tasks?state=all", "/metrics", "/v1/models", "/openapi.json")
    words = {"messages": [{"role": "user", "content": "dragon"}]}
    asked = [
        *map(curious.get, get),
        curious.post("/tasks/t1/done", None),
        curious.chat("What is my dragon called?"),
        curious.chat("dragon", "s1"),
        curious.chat("dragon", "s2"),
        curious.post("/chat", {"message": "dragon fish", "stream": True}),
        curious.post("/v1/chat/completions", words),
    ]
    paths = {path.replace("{task}", "t1") for path in http.application(house.house).openapi()["paths"]}
    assert paths - {"/events", "/health"} <= {response.url.path for response in asked}
    found = records.events_after(house.db, "caller:curious", 0)[0]
    assert [response.url for response in asked if CANARY in response.text] == []
    assert not {event["session"] for event in found} & {"s1", "s2"}
    assert all(CANARY not in str(body) for body in requests_of(server, "What is my dragon called?"))


def requests_of(server, words):
    """What the model was told when it was asked this, and after."""
    bodies = [each.body for each in server.requests if each.body and "messages" in each.body]
    start = next(n for n, body in enumerate(bodies) if words in str(body))
    assert any(CANARY in str(body) for body in bodies[:start])
    return bodies[start:]


def test_no_tool_gives_another_callers_words(two):
    house, _, curious = two
    curious.chat("hi")
    session = sessions.latest(house.db, "caller:curious").id
    app = house.house.app_of(callers.get(house.db, "curious"))
    here = turns.tool_context(app, house.db, session)
    tries = dict(
        columns("""query → dragon fish friend | around → m1 | name → feed-dragon | text → x
        statement → I am rich. | quote → dragon | replaces → f1 | title → dragon | task → t1 | path → x | when →""")
    )
    results = {}
    for name, each in registry.BUILT_IN.items():
        arguments = {key: tries[key] for key in each.parameters["properties"] if key in tries}
        results[name] = tools.run(each, ToolCall("1", name, arguments), here).text
    assert {name for name, text in results.items() if CANARY in text} == set()
    assert results["timeline"] == "there is no message m1"
    owner = house.house.app_of(callers.get(house.db, "full"))
    told = tools.run(
        registry.BUILT_IN["search_memory"],
        ToolCall("1", "search_memory", {"query": "dragon"}),
        turns.tool_context(owner, house.db, 1),
    )
    assert CANARY in told.text


def test_folders_feeds_and_servers_of_the_person_are_out_of_reach_for_others(tmp_path, server):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "dragon.txt").write_text(f"{CANARY} sleeps")
    (tmp_path / "none.toml").write_text(
        f'folders = ["{tmp_path}/notes"]\nfeeds = {{ news = "{tmp_path}/notes/dragon.txt" }}\n'
    )
    calls = [
        ("read_file", {"path": f"{tmp_path}/notes/dragon.txt"}),
        ("search_files", {"words": "sleeps"}),
        ("fetch_feed", {"name": "news"}),
    ]
    with served(opened(tmp_path, server)) as house:
        for caller in (house.caller("bot"), house.caller("mine", mine=True)):
            server.play(script.reply("", calls=calls), script.reply("so"))
            caller.chat("hi")
        told = house.db.rows("select owner, group_concat(text) from message where role = 'tool' group by owner")
    assert {owner: CANARY in text for owner, text in told} == {"caller:bot": False, "person": True}
    offered = ["read_file" in str(request.body["tools"]) for request in server.requests if "tools" in str(request.body)]
    assert (offered[0], offered[-1]) == (False, True)
