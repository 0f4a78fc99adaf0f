"""The review screen: what each key does, and what decides nothing.

Nothing sleeps to let it work: `Calm` says when it waits for the next key.
"""

import asyncio
import io
import selectors
from contextlib import redirect_stdout
from datetime import timedelta

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from agent_cli.memory.conversations import log
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.language import triples
from agent_cli.memory.language.triples import Claim, Triple
from agent_cli.messages import Part
from agent_cli.render.layout import cell_width
from agent_cli.repl.review import ReviewScreen
from tests.conftest import HERE, NOON, memory_of

PASTE = "\x1b[200~{}\x1b[201~"
CTRL_C, CTRL_D, ENTER, CLEAR = "\x03", "\x04", "\r", "\x15"


class Calm(selectors.DefaultSelector):
    """Tells when all that was typed is read and done with: when the loop that asks it would sleep."""

    def __init__(self):
        super().__init__()
        self._waiting = []

    def select(self, timeout=None):
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        for each in [each for each in self._waiting if timeout is None or timeout > each[0]]:
            self._waiting.remove(each)
            each[1].set_result(None)
            timeout = 0
        return super().select(timeout)

    async def come(self, longest=0.2):
        """Wait until it would sleep longer than so many seconds: behind Esc, it first listens for more."""
        self._waiting.append((longest, asyncio.get_running_loop().create_future()))
        await self._waiting[-1][1]


def sit_down(person):
    """Run what a person does, `person(pipe, calm)`, before the review; gives what stands on the screen."""
    screen, calm = io.StringIO(), Calm()
    with (
        create_pipe_input() as pipe,
        create_app_session(input=pipe, output=DummyOutput()),
        redirect_stdout(screen),
        asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(calm)) as runner,
    ):
        runner.run(asyncio.wait_for(person(pipe, calm), 30))
    return screen.getvalue()


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def reviewer(db):
    return memory_of(db)


@pytest.fixture
def walk(reviewer):
    """Goes through the queue with these keys, each pressed by itself; gives what stands on the screen."""

    def go(*keys, between=None, screen_reader=False, editor="", ahead=""):
        async def person(pipe, calm):
            pipe.send_text(ahead) if ahead else None
            task = asyncio.create_task(ReviewScreen(reviewer, editor).run())
            await calm.come()
            for number, key in enumerate(keys):
                if between and number == between[0]:
                    between[1]()
                if key == keys[number - 1] and number:
                    await asyncio.sleep(0.12)  # or it is held down
                if key == "CLOSE":
                    pipe.close()
                else:
                    pipe.send_text(key)
                await calm.come()
            await task

        with pytest.MonkeyPatch.context() as patch:
            if screen_reader:
                patch.setenv("ACCESSIBLE", "1")
            return sit_down(person)

    return go


@pytest.fixture
def three(db):
    """Three that wait; the second contradicts what is known."""
    adoption.add(memory_of(db, lambda: NOON - timedelta(days=9)), Claim("The NAS answers at 192.168.1.12", "typed"))
    for words in ("I like tea", "The NAS answers at 192.168.1.20", "My car is red"):
        adoption.propose(memory_of(db), Claim(words, "model"))


def claims(words, origin="typed", **dates):
    return Claim(words, origin, triples.parse(words), **dates)


def states(db):
    return [state for _, state in db.rows("select id, state from fact where id > 1 order by id")]


WAITING = ["pending", "pending", "pending"]


def test_each_decision_has_a_receipt_and_the_end_a_sum(db, walk, three):
    screen = walk("y", "y", "n")
    assert [line for line in screen.splitlines() if line.startswith(("✓", "·"))] == [
        "✓ kept f2: I like tea",
        "✓ kept f3, replaces f1 (until 2 Jan 2026): The NAS answers at 192.168.1.20",
        "· rejected f4: My car is red",
    ]
    assert screen.endswith("\n2 kept, 1 rejected, 0 left\nagent facts undo takes the last decision back\n")
    assert states(db) == ["accepted", "accepted", "rejected"]


def test_what_was_proposed_after_reading_something_foreign_stands_first_and_says_so(db, walk, session, three):
    read = log.add_user_message(
        db, session, HERE, [Part("sum this up", "typed"), Part("I owe 50", "file", "notes.txt")], NOON
    )
    adoption.propose(memory_of(db), Claim("I owe Max 50", "model", message=read, trust="file"))
    assert walk("q").startswith(
        """
4 facts to review

? Fact 1 of 4 · f5                               from s1 “sum this up”, just now
  ! proposed after reading the file notes.txt, m1
  + I owe Max 50
"""
    )


def test_what_rests_on_something_foreign_ends_what_is_known_by_a_key_of_its_own(db, walk, session, three):
    read = log.add_user_message(db, session, HERE, [Part("The NAS answers at 192.168.1.99", "file", "n.txt")], NOON)
    said = Claim("The NAS answers at 192.168.1.99", "model", message=read, trust="file")
    adoption.propose(memory_of(db), said)
    screen = walk("y", "r", "q")
    assert "\n  r replace  b keep both  n no  e edit" in screen
    assert "\n  (y does nothing here; ? lists the keys)\n" in screen
    assert "\n✓ kept f5, replaces f1 (until 2 Jan 2026): " in screen
    assert db.value("select state from fact where id = 1") == "superseded"


@pytest.mark.parametrize(
    ("graz", "sign"), [(timedelta(0), "-"), (timedelta(days=300), "=")], ids=["said before", "true from later on"]
)
def test_which_of_two_values_will_count_is_what_the_page_says(db, walk, graz, sign):
    known = claims("I live in Graz", valid_from=NOON - timedelta(days=100) if graz else None)
    adoption.add(memory_of(db), known)
    adoption.propose(memory_of(db), claims("I live in Linz", "model", valid_from=NOON - timedelta(days=400)))
    screen = walk("y")
    assert f"\n  {sign} I live in Graz (since " in screen
    assert ("\n  ~ y keeps it as what was true before f1\n\n  y keep  n no" in screen) == (sign == "=")
    assert facts.get(db, 1, "person").is_open(NOON) == (sign == "=")


def test_nothing_waits(walk):
    assert walk() == "· there is nothing to review\n"


TOGETHER = (
    *("yes", "yy", "y\r", "yn", "\x1by", "\x1b[A", "y" * 5000, "\x1b[5;1R"),
    *map(PASTE.format, ("y", "yyyy\r", "")),
)


@pytest.mark.parametrize("key", [*"\r\n YNB\x1b\tｙу\x00rbou1é", *TOGETHER, "\x1b[200~y"], ids=ascii)
def test_what_is_no_deliberate_key_decides_nothing(db, walk, three, key):
    screen = walk(*[key] * (5 if key == ENTER else 1), "CLOSE" if key == "\x1b[200~y" else CTRL_C)
    assert states(db) == WAITING
    assert "0 kept, 0 rejected, 3 left" in screen


def test_what_decided_nothing_is_said(walk, three):
    screen = walk("yn", PASTE.format("y"), "x", "q")
    assert "\n  (several keys at once decide nothing; press one)\n" in screen
    assert "\n  (a paste decides nothing; press one key)\n" in screen
    assert "\n  (x does nothing here; ? lists the keys)\n" in screen


@pytest.mark.parametrize("ahead", ["y", "yyyyyyyy", "y\rn\r", PASTE.format("y"), "A", "y" * 3000])
def test_what_was_typed_ahead_decides_nothing(db, walk, three, ahead):
    walk("q", ahead=ahead)
    assert states(db) == WAITING


def test_a_key_that_is_held_down_decides_once(db, reviewer, three):
    async def hold(pipe, calm):
        task = asyncio.create_task(ReviewScreen(reviewer, "").run())
        await calm.come()
        for key in "y" * 12 + "q":
            pipe.send_text(key)
            await calm.come()
        await task

    sit_down(hold)
    assert states(db) == ["accepted", "pending", "pending"]


@pytest.mark.parametrize("end", [CTRL_C, CTRL_D, "CLOSE", "q"], ids=["Ctrl-C", "Ctrl-D", "EOF", "q"])
def test_decisions_so_far_stay_when_it_ends(db, walk, three, end):
    assert "1 kept, 0 rejected, 2 left" in walk("y", end)
    assert states(db) == ["accepted", "pending", "pending"]


@pytest.mark.parametrize(
    ("key", "undone"), [("b", "f3 waits again"), ("y", "f1 is true again"), ("n", "f3 waits again")]
)
def test_u_takes_the_last_decision_back_and_shows_it_again(db, walk, three, key, undone):
    screen = walk("s", key, "u", "q")
    assert f"\n  undone: {undone}\n" in screen
    assert screen.count("Fact 2 of 3 · f3") == 2
    assert (states(db), facts.get(db, 1, "person").state) == (WAITING, "accepted")
    assert screen.endswith("0 kept, 0 rejected, 3 left\n")


def test_e_changes_the_words_which_are_shown_and_wait_for_y(db, walk, three):
    screen = walk("e", CLEAR, "I like green tea", ENTER, "q")
    assert "\n  + I like green tea\n    in your words now\n" in screen
    assert db.value("select statement from fact where id = 2") == "I like tea"
    walk("e", CLEAR, "I like green tea", ENTER, "y", "q")
    assert db.rows("select statement, state from fact where id = 2") == [("I like green tea", "accepted")]


@pytest.mark.parametrize("keys", [["e", CTRL_C], ["e", "x", CTRL_C], ["e", CLEAR, ENTER], ["e", ENTER]], ids=ascii)
def test_an_edit_that_is_left_changes_nothing(db, walk, three, keys):
    assert "its words were not changed" in walk(*keys, "q")
    assert states(db) == WAITING


def test_a_paste_into_an_edit_decides_nothing(db, walk, three):
    screen = walk("e", CLEAR, PASTE.format("evil\ry\r\u202ewords"), ENTER, "q")
    assert "\n  + evil y words\n" in screen
    assert states(db) == WAITING


def test_capital_e_opens_the_editor(db, walk, three, tmp_path):
    script = tmp_path / "editor"
    script.write_text('#!/bin/sh\nsed -i s/tea/mate/ "$1"\n')
    script.chmod(0o755)
    walk("E", "y", "q", editor=str(script))
    assert db.rows("select statement, state from fact where id = 2") == [("I like mate", "accepted")]


def test_an_editor_that_cannot_be_started_is_said(db, walk, three):
    assert "the editor 'nosuch' cannot be started" in walk("E", "q", editor="nosuch")
    assert states(db) == WAITING


def test_o_shows_where_it_was_said(db, walk, session):
    for words in ("one", "two", "put the \x1b[31mNAS on .20 please", "four"):
        said = log.add_user_message(db, session, HERE, [Part(words, "typed")], NOON)
    adoption.propose(memory_of(db), Claim("The NAS is .20", "model", message=said - 1, quote="NAS on .20"))
    screen = walk("o", "q")
    assert "    m1 you: one\n    m2 you: two\n  > m3 you: put the [31mNAS on .20 please\n    m4 you: four\n" in screen
    assert screen.count("Fact 1 of 1") == 2


def test_question_mark_tells_what_each_key_does(walk, three):
    screen = walk("s", "?", "q")
    for key in "ybneEsoAq":
        assert f"\n  {key}  " in screen


@pytest.mark.parametrize(
    "answer", [["y", "e", "s", ENTER], ["Y", "E", "S", ENTER], ["y", "x", "\x7f", "e", "s", ENTER]]
)
def test_capital_a_keeps_the_rest_after_a_typed_yes(db, walk, three, answer):
    screen = walk("s", "A", *answer)
    listed = screen[screen.rindex("? help") : screen.index("type yes")]
    assert "  + The NAS answers at 192.168.1.20 (said 2 Jan 2026)\n" in listed
    assert "  - The NAS answers at 192.168.1.12 (since 24 Dec 2025, f1)\n" in listed
    assert states(db) == ["pending", "accepted", "accepted"]
    assert "2 kept, 0 rejected, 1 left" in screen


@pytest.mark.parametrize(
    "answer",
    [[ENTER], ["y", ENTER], ["n", "o", ENTER], [PASTE.format("yes"), ENTER], ["yes\r", ENTER], [CTRL_D], [CTRL_C]],
    ids=ascii,
)
def test_capital_a_without_the_typed_yes_decides_nothing(db, walk, three, answer):
    assert "nothing was decided" in walk("A", *answer, "q")
    assert states(db) == WAITING


def test_u_after_capital_a_takes_all_of_it_back(db, walk, three):
    adoption.propose(memory_of(db), Claim("The NAS answers at 192.168.1.33", "model"))
    screen = walk("A", "y", "e", "s", ENTER, "u", "q")
    assert "1 changed meanwhile, or contradict what was just kept: look again" in screen
    assert "\n  undone: f2 waits again\n" in screen
    assert states(db) == [*WAITING, "pending"]


def test_the_second_reviewer_is_told_and_goes_on(db, walk, three):
    def other():
        facts.reject(memory_of(db), facts.get(db, 2, "person"))
        adoption.accept(memory_of(db), facts.get(db, 3, "person"))

    screen = walk("y", "n", "q", between=(0, other))
    assert "\n  f2 was decided meanwhile: it is rejected\n" in screen
    assert "\n  f3 was decided meanwhile\n" in screen
    assert states(db) == ["rejected", "accepted", "rejected"]


def test_what_was_taken_back_elsewhere_is_not_taken_back_again(db, walk, three):
    screen = walk("y", "u", "q", between=(1, lambda: facts.undo(memory_of(db))))
    assert "\n  undone: it was taken back elsewhere already\n" in screen
    assert states(db) == WAITING


def test_what_a_model_files_it_as_and_how_long_it_holds_is_shown(db, walk):
    triple = Triple("person", "lives_in", "Moscow")
    month = timedelta(days=30)
    adoption.propose(
        memory_of(db), Claim("I like tea", "model", triple, valid_from=NOON - month, valid_to=NOON + month)
    )
    assert """
  + I like tea (since 3 Dec 2025, until 1 Feb 2026)
    filed in other words than these
    new fact · everywhere · filed as person · lives_in · Moscow
""" in walk("o", "q")


@pytest.mark.parametrize("width", [30, 34, 80, 200])
def test_no_line_is_wider_than_the_terminal_and_no_word_is_lost(db, walk, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    words = "I keep 日本語のとても長いメモ under https://example.org/" + "x" * 90 + " for " + "many words " * 9 + "now"
    adoption.propose(memory_of(db), Claim(words, "model", quote="q " * 400))
    screen = walk("q")
    assert max(cell_width(line) for line in screen.splitlines()) <= width
    assert words.replace(" ", "") in screen.replace("\n", "").replace(" ", "")


def test_a_screen_reader_is_given_sentences_and_numbers(db, walk, three):
    screen = walk(ENTER, "1", ENTER, "1", ENTER, "3", ENTER, screen_reader=True)
    told = (
        "Nothing was decided: type one of the numbers above, then Enter.\nNumber and Enter: 1\n  kept f2\n\nFact 2 of 3"
    )
    assert told in screen
    assert "\nKnown since 24 Dec 2025, f1: The NAS answers at 192.168.1.12\nProposed: The NAS answers at " in screen
    assert "\n1 keep it, and end f1\n2 keep it, and f1 too\n3 reject it\n" in screen
    assert states(db) == ["accepted", "accepted", "rejected"]
    assert not set(screen) & set("·~+│—>")


@pytest.mark.parametrize("keys", [["1\r"], [PASTE.format("1\r")], ["1"], ["y", ENTER], ["1", "1", ENTER], ["2", ENTER]])
def test_a_screen_reader_decides_by_one_number_and_enter_alone(db, walk, three, keys):
    walk(*keys, CTRL_C, screen_reader=True)
    assert states(db) == WAITING
