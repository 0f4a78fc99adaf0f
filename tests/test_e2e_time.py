"""What happens to a conversation as time passes, through the real program."""

from datetime import UTC, datetime, timedelta

from agent_cli import clock
from agent_cli.store.db import Database
from tests.ollama_server.script import reply


def age(program, minutes):
    """Let what was said be so long ago."""
    db = Database(program.db)
    long_ago = clock.utc(datetime.now(UTC) - timedelta(minutes=minutes))
    with db.write():
        db.execute("update session set last_at = ?, opened_at = null", (long_ago,))
    db.close()


def test_a_session_left_alone_for_31_minutes_is_closed_and_what_comes_next_begins_another(program, server, terminal):
    program.use(server)
    server.answer = lambda body: reply("I see.")
    open_ = terminal()
    open_.wait_prompt().enter("My cat is Mia.").wait("I see.").wait_prompt()
    age(program, 31)

    open_.enter("Who is Mia?").wait("s1 was closed after a long silence")
    open_.until(
        lambda: len(program.rows("select 1 from message where role = 'assistant' and finish = 'stop'")) == 2,
        "an answer",
    )

    assert program.rows("select id, closed_at is not null from session") == [(1, 1), (2, 0)]
    assert program.rows("select kind, subject from job where kind = 'summary'") == [("summary", "s1")]
    assert "My cat is Mia." in server.requests[-1].body["messages"][1]["content"]


def test_whoever_runs_jobs_closes_it_too_and_writes_one_summary(program, server, terminal):
    program.use(server)
    server.answer = lambda body: reply("The cat is Mia.")
    open_ = terminal()
    open_.wait_prompt().enter("My cat is Mia.").wait("The cat is Mia.").wait_prompt()
    age(program, 31)

    for _ in range(2):
        assert program("jobs", "run", "--until-idle").code == 0

    assert program.rows("select session_id, text from summary") == [(1, "The cat is Mia.")]
    assert program.rows("select count(*) from event where kind = 'session closed'") == [(1,)]


def test_what_the_answers_took_is_counted(program, server):
    program.use(server)
    server.answer = lambda body: reply("I see.")
    assert program("stats").out == ""
    program("ask", "hello")

    (row,) = program("stats", "--per", "model", "--json").json

    assert list(row) == ["model", "answers", "tokens_in", "tokens_out", "cost", "seconds"]
    assert (row["model"], row["answers"]) == ("qwen3:8b", 1)
    assert row["tokens_in"] > 100
    assert program("stats").out.splitlines()[0].split() == [
        "day", "answers", "tokens", "in", "tokens", "out", "seconds", "cost",
    ]  # fmt: skip
