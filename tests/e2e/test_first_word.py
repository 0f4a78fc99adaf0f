"""How soon the first word comes: what a server with one slot must read, whatever runs behind a conversation."""

import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests import facts
from tests.memory.facts.test_fact_extraction import answer, operation
from tests.ollama_server import script
from tests.serving import wait_until

HELD = 150  # tokens of an exchange and its date: what a server may read again beside a question


@pytest.fixture
def talks(program, server):
    """The program with a server; `talks.finds` is what the learning job is told."""
    program.use(server)
    program.finds = answer()
    server.answer = lambda body: script.reply(program.finds if facts.are_asked_for(body) else "Fine.")
    return program


def jobs(program):
    return {job["kind"]: job["state"] for job in program("jobs", "list", "--json").json}


def read(server):
    return [request.read_tokens for request in server.requests if request.path == server.chat_path]


def test_learning_and_closing_read_only_what_is_new(talks, server, terminal):
    shell = terminal(AGENT_IDLE_SECONDS="0.3", AGENT_WARM="false").wait_prompt()  # nothing is read ahead
    for number, line in enumerate(("we live in Graz", "we have a cat", "it is grey"), 1):
        shell.enter(line).wait("Fine.", times=number).wait_prompt()
        server.wait_until(lambda number=number: len(server.turns) >= 2 * number)  # it is learned from
        server.wait_until_idle()
    shell.enter("/close").wait("closed s1").wait_prompt()
    first, learned, *others = read(server)
    assert first > 500
    assert learned < 600  # the instruction
    assert max(others[1::2]) < 600
    assert max(others[0::2]) < HELD
    assert "Summarise it for your own memory" in server.turns[-1]["messages"][-1]["content"]


def test_a_conversation_that_goes_on_is_not_interrupted_by_other_prompts(talks, server, terminal):
    server.profile = replace(server.profile, version="0.29.0")  # the last to forget a prompt when another one comes
    shell = terminal(AGENT_IDLE_SECONDS="0.3").wait_prompt()
    shell.enter("Publish the site").wait("Fine.").wait_prompt()
    shell.enter("/new").wait("is closed and kept").wait_prompt()
    shell.enter("we live in Graz").wait("Fine.", times=2).wait_prompt()
    shell.until(lambda: jobs(talks).get("learn") == "done", "the end of learning")
    assert jobs(talks)["summary"] == "ready"
    shell.enter("/exit")
    assert shell.ended() == 0
    talks("jobs", "run", "--until-idle")
    assert set(jobs(talks).values()) <= {"done", "ready"}
    assert jobs(talks)["summary"] == "done"


def test_a_question_in_another_process_ends_a_background_request_at_once(talks, server):
    talks.finds = answer(operation(quote="we live in Graz"))
    assert talks("ask", "we live in Graz").code == 0
    server.play(script.held("So"))
    worker = talks.start("jobs", "run", "--until-idle")
    server.wait_until(lambda: server.counters.running == 1)
    assert talks("ask", "and where is a bakery?").out == "Fine.\n"  # the request behind it would have no end
    worker.communicate(timeout=30)
    assert server.counters.cancelled == 1
    assert talks.rows("select statement from fact") == [("I live in Graz",)]
    assert set(jobs(talks).values()) <= {"done", "ready"}


def test_running_jobs_until_idle_waits_for_a_job_that_another_process_runs(talks, server):
    assert talks("ask", "we live in Graz").code == 0
    answered = threading.Event()
    server.play(script.held("So", "it is.", answered))
    first = talks.start("jobs", "run", "--until-idle")
    server.wait_until(lambda: server.counters.running == 1)
    second = talks.start("jobs", "run", "--until-idle")
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(timeout=1.5)
    assert talks("jobs", "run", "--due").code == 0  # what is started behind a command does not wait
    answered.set()
    for each in (first, second):
        each.communicate(timeout=30)
        assert each.returncode == 0
    assert jobs(talks)["learn"] == "done"


@pytest.mark.skipif(not hasattr(os, "getpriority"), reason="there are no priorities")
def test_what_is_left_running_behind_has_a_low_priority(talks, server):
    seen = []

    def reply(body):
        if facts.are_asked_for(body):
            seen.extend(nice_of_jobs(talks.db))
        return script.reply(answer() if facts.are_asked_for(body) else "Fine.")

    server.answer = reply
    assert talks("ask", "we live in Graz", env={"AGENT_BACKGROUND_JOBS": "true"}).code == 0
    wait_until(lambda: jobs(talks).get("learn") == "done")
    assert seen
    assert min(seen) >= 10


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_questions_in_quick_succession_leave_one_process_behind(talks, server):
    learned = threading.Event()
    server.answer = lambda body: (
        script.held("", answer(), learned) if facts.are_asked_for(body) else script.reply("Fine.", delay=0.5)
    )
    left = []
    for number in range(6):
        assert talks("ask", f"we live in Graz {number}", env={"AGENT_BACKGROUND_JOBS": "true"}).code == 0
        left.append(len(list(nice_of_jobs(talks.db))))
    assert max(left) <= 2  # that of the question before is perhaps about to end
    learned.set()
    wait_until(lambda: jobs(talks).get("learn") == "done")
    wait_until(lambda: not list(nice_of_jobs(talks.db)))


def nice_of_jobs(db):
    """The priorities of the processes that run the jobs of this file."""
    for folder in os.listdir("/proc"):
        if folder.isdigit():
            try:
                command, environ = (Path("/proc", folder, name).read_bytes() for name in ("cmdline", "environ"))
                if b"jobs\0run\0--due" in command and os.fsencode(db) in environ:
                    yield os.getpriority(os.PRIO_PROCESS, int(folder))
            except OSError:
                continue


def test_a_loop_is_ended_on_the_server_too_and_json_says_what_ended_a_turn(talks, server):
    server.play(script.reply("La question est de la question. " * 2000, delay=0.001))
    ran = talks("ask", "--json", "Quelle question ?")
    assert (ran.json["finish"], ran.code) == ("repetition", 0)
    assert len(ran.json["answer"].split()) < 200
    assert ran.err == "agent: the turn was ended: the model repeated itself\n"
    server.wait_until(lambda: server.counters.cancelled == 1)
    server.answer = lambda body: script.reply(calls=[("timeline", {})])
    assert talks("ask", "--json", "And what else?").json["finish"] == "refused"
    server.answer = lambda body: script.reply("Enough.") if "no further call" in str(body) else again
    again = script.reply(calls=[("timeline", {})])
    assert talks("ask", "--json", "And now?").json["finish"] == "stopped"
