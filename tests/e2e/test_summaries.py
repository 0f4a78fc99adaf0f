"""`agent summaries` and /summary: what remains of days and weeks, in real processes."""

import shutil
import signal

import pytest

from tests.conftest import CHAT, NOBODY, NOON, Program, Ran
from tests.ollama_server import script
from tests.ollama_server.server import OllamaServer
from tests.terminal import CTRL_C

TOLD = "agent: 2026-01-02 is made\n"


def at(program, day, hour=12):
    program.env["AGENT_NOW"] = NOON.replace(day=day, hour=hour).isoformat()
    return program


@pytest.fixture
def program(program, server):
    program.env["AGENT_LEARN"] = "off"
    return at(program.use(server), 6)


@pytest.fixture(scope="session")
def talked(tmp_path_factory):
    """Made once: on Friday 2 January two questions, each a one-shot."""
    program = at(Program(tmp_path_factory.mktemp("talked")), 2)
    with OllamaServer(models=[CHAT]) as server:
        server.play(*map(script.reply, ("Mia weighs 4 kg then.", "By train.")))
        program.use(server)("ask", "Mia the cat weighs 4 kg")
        program("ask", "how do I get to Graz?")
    return program


@pytest.fixture
def talk(program, talked):
    shutil.copy(talked.db, program.db)


def test_what_is_over_is_made_by_the_queue_and_shown_with_its_sources(program, talk, server):
    server.play(script.reply("Mia the cat weighs 4 kg. The way to Graz was asked for."), script.reply("Mia and Graz."))
    assert program("jobs", "run", "--until-idle").code == 0

    rows = program("summaries", "list").out.splitlines()
    assert sorted(rows) == [
        "y1  2026-01-02  2026-01-02  Mia the cat weighs 4 kg. The way to Graz was asked for.",
        "y2  2026-W01    2026-01-02  Mia and Graz.",
    ]
    assert program("summaries", "show", "2026-W01").out == (
        "2026-W01 (y2), by qwen3:8b, 06 January 2026, 12:00\n\nMia and Graz.\n\nverbatim: Mia the cat weighs 4 kg\n"
    )
    assert program("summaries", "show", "y1", "--sources").out == (
        "2026-01-02 (y1), by qwen3:8b, 06 January 2026, 12:00\n\n"
        "Mia the cat weighs 4 kg.  [s1]\nThe way to Graz was asked for.  [s2]\n\nmade from: s1 s2\n"
    )
    assert program("summaries", "list", "--grain", "week", "--json").json == [
        {
            "id": "y2",
            "grain": "week",
            "period": "2026-W01",
            "session": None,
            "day": "2026-01-02",
            "text": "Mia and Graz.",
            "details": "Mia the cat weighs 4 kg",
            "method": "model",
            "model": "qwen3:8b",
            "made_at": "2026-01-06T12:00:00.000Z",
            "pinned": False,
        }
    ]
    told = program("summaries", "show", "2026-W01", "--json").json
    assert (told["sentences"], told["sources"]) == ([{"text": "Mia and Graz.", "sources": ["y1"]}], ["y1"])
    assert "(summary of 2026-W01)" in program("search", "Graz", "--grain", "week").out


def test_a_week_is_made_now_with_its_days_and_made_again_only_when_asked(program, talk, server):
    server.play(*map(script.reply, ("Mia weighs 4 kg.", "The week of Mia.", "Another week of Mia.")))
    ran = program("summaries", "rebuild", "2026-W01")
    assert ran == Ran(0, "made 2 summaries\n", f"{TOLD}agent: 2026-W01 is made\n")
    assert program("summaries", "rebuild", "2026-w01").err == "agent: 2026-W01 is made\n"
    assert "Another week of Mia." in program("summaries", "show", "2026-W01").out


def test_without_a_model_sentences_are_extracted_and_marked(program, talk):
    program.env |= {**NOBODY, "AGENT_MODEL": "auto"}
    ran = program("summaries", "rebuild", "2026-01-02")
    told = "agent: no model answers: sentences are extracted, and summarised when one does\n"
    assert ran.err.endswith(f"{told}{TOLD}agent: 2026-W01 is made\n")
    assert [line.split()[-1] for line in program("summaries", "list").out.splitlines()] == ["extracted"] * 2
    assert "extracted 06 January 2026, 12:00: no model answered" in program("summaries", "show", "2026-01-02").out


WRONG = [
    (("show", "2026-W01"), "there is no summary of 2026-W01 yet; `agent summaries rebuild 2026-W01` makes it now"),
    (("show", "y9"), "there is no summary y9; `agent summaries list` shows them all"),
    (("show", "s1"), "s1 has no summary yet; `agent sessions close s1` writes it"),
    (("show", "2027"), "nothing is kept of 2027"),
    (("rebuild", "s1"), "s1 has no summary yet; `agent sessions close s1` writes it"),
    (("show", "2025-W53"), "there is no week 2025-W53 in the calendar"),
    (("rebuild",), "name periods, as in `agent summaries rebuild 2026-W47`, or say --all"),
]


def test_what_cannot_be_done_is_said_with_what_can(program, talk):
    for words, said in WRONG:
        assert program("summaries", *words) == Ran(2, "", f"agent: {said}\n"), words
    ran = program("summaries", "rebuild", "2024-03")
    assert ran == Ran(0, "made 0 summaries\n", "agent: nothing is left to make 2024-03 from\n")


def test_the_session_shows_the_day_so_far_and_the_week_with_what_it_lacks(program, terminal, talk, server):
    at(program, 2, 20)
    server.play(*map(script.reply, ("Mia weighs 4 kg.", "A week with Mia.")))
    person = terminal()
    person.wait_prompt()
    person.enter("/summary").wait("2026-01-02 (y1), summarised just now").wait_prompt()
    assert "Mia weighs 4 kg." in person.text
    person.enter("/summary week").wait("2026-W01 (y2), summarised just now").wait_prompt()
    assert "A week with Mia." in person.text
    person.enter("/summary 2026-01-02").wait("2026-01-02 (y1), summarised\n").wait_prompt()
    person.enter("/summary 2019").wait("nothing is kept of 2019").wait_prompt()
    person.enter("/summary soon").wait("'soon' is not a period").wait_prompt()
    assert person.text.count("Mia weighs 4 kg.") == 2


def test_a_summary_that_is_stopped_keeps_nothing(program, terminal, talk, server):
    at(program, 2, 20)
    server.play(script.held("Word 0. Word 1."))
    person = terminal()
    person.wait_prompt()
    person.enter("/summary").wait("Word 0.").type(CTRL_C).wait("stopped").wait_prompt()
    assert program.rows("select * from summary") == []


def test_a_rebuild_that_is_stopped_leaves_what_is_done(program, talk, server):
    server.play(script.reply("Mia weighs 4 kg."), script.held("Word 0."))
    process = program.start("summaries", "rebuild", "2026-W01")
    assert process.stderr.readline() == TOLD
    server.wait_for_chats(2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "made 1 summary\n", "agent: stopped\n")
    assert program.rows("select period, text from summary") == [("2026-01-02", "Mia weighs 4 kg.")]
    assert program("summaries", "rebuild", "2026-W01").err == "agent: 2026-W01 is made\n"
