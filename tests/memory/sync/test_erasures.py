"""What is forgotten on one machine while another makes something of it, and in which order a third reads that: nothing
of it is left on any, and all that was made of something else as well is on all."""

import re
import shutil
from datetime import timedelta

import pytest

from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.facts import adoption
from agent_cli.memory.lifecycle import closing, rewind
from agent_cli.memory.planner import notes
from agent_cli.memory.summaries import summaries
from agent_cli.memory.transfers import transfer
from agent_cli.store import changes, ids, keyed_hash
from tests import syncing
from tests.conftest import HERE, NOON
from tests.forgetting import keep_period
from tests.memory.sync.test_exchange import differences, forget
from tests.recalling import say
from tests.syncing import Machine, carry

KEY = keyed_hash.name_of(syncing.KEY)
EARLIER = NOON - timedelta(days=400)

# A case makes what all machines know; then what `two` makes of it while `one` forgets it; then what is done on `three`
# when that has read what was forgotten. Its erased word goes, its other one stays.


def a_new_note_that_was_edited(one, two, three, erased, left):
    yield
    note(two, f"{erased} is fed at noon")
    read("2", [one, two])
    edit(two, erased, f"{erased} is fed at one")
    read("2 12", [one, two])
    forget_row(one, "note", erased)
    yield


def an_edited_note(one, two, three, erased, left):
    note(one, f"{erased} is fed at noon")
    yield
    edit(two, erased, f"{erased} is fed at one")
    forget_row(one, "note", erased)
    yield


def the_same_note(one, two, three, erased, left):
    note(one, f"{erased} is fed at noon")
    yield
    note(two, f"{erased} is fed at noon")
    forget_row(one, "note", erased)
    yield


def the_same_note_again(one, two, three, erased, left):
    note(one, f"{left} is fed at noon")
    yield
    forget_row(one, "note", left)
    yield
    note(three, f"{left} is fed at noon")


def a_note_of_a_session(one, two, three, erased, left):
    said(one, f"I saw {erased} today.")
    yield
    session = log.session_of(two.db, row(two, "message", erased))
    notes.add(two.db, HERE, f"{left} is fed at noon", two.time, session=session)
    forget_row(one, "message", erased)
    yield


def a_fact_of_a_message(one, two, three, erased, left):
    said(one, f"I like {erased} and soup.")
    yield
    learned(two, erased, f"I like {erased}")
    forget_row(one, "message", erased)
    yield


def a_fact_of_a_sentence(one, two, three, erased, left):
    said(one, f"I like {erased}. I saw {left} too.")
    yield
    learned(two, erased, f"I like {erased}", f"I like {erased}.")
    forget(one, f"m{row(one, 'message', erased)}.1")
    yield


def a_fact_of_two_messages(one, two, three, erased, left):
    said(one, f"I saw {erased}, and like {left}.")
    said(one, f"I like {left} most.")
    yield
    learned(two, erased, f"I like {left}")
    learned(two, f"{left} most", f"I like {left}")
    forget_row(one, "message", erased)
    yield


def another_source(one, two, three, erased, left):
    said(one, f"I saw {erased}, and like {left}.")
    said(one, f"I like {left} most.")
    learned(one, erased, f"I like {left}")
    yield
    learned(two, f"{left} most", f"I like {left}")
    forget_row(one, "message", erased)
    yield


def a_summary_of_two_messages(one, two, three, erased, left):
    session = sessions.start(one.db, HERE, one.time())
    say(one.db, session, f"I saw {erased} in a lovely garden.", one.time())
    say(one.db, session, f"The bicycle of {left} was repaired on Monday.", one.time())
    yield
    closing.close(two.db, log.session_of(two.db, row(two, "message", erased)), two.time)
    forget_row(one, "message", erased)
    yield


def a_session_that_goes_on(one, two, three, erased, left):
    said(one, f"I saw {erased} today.")
    yield
    session = log.session_of(two.db, row(two, "message", erased))
    say(two.db, session, f"I saw {left} as well.", two.time())
    forget(one, ids.handle("session", log.session_of(one.db, row(one, "message", erased))))
    yield


def a_cut_message_taken_back(one, two, three, erased, left):
    said(one, f"I saw {erased} today. It was near {left}.")
    yield
    message = row(two, "message", erased)
    rewind.take_back(two.db, log.session_of(two.db, message), "person", message, two.time)
    forget(one, f"m{row(one, 'message', erased)}.1")
    yield


def a_message_cut_on_both(one, two, three, erased, left):
    said(one, f"I saw {erased} today. I had {erased}soup. It was near {left}.")
    yield
    forget(three, f"m{row(three, 'message', erased)}.2")
    forget(one, f"m{row(one, 'message', erased)}.1")
    yield


def a_summary_of_a_session(one, two, three, erased, left):
    said(one, f"I saw {erased} today, which is a lovely place to be at.")
    yield
    closing.close(two.db, log.session_of(two.db, row(two, "message", erased)), two.time)
    forget_row(one, "message", erased)
    yield


def a_summary_of_a_summary(one, two, three, erased, left):
    keep_period(one.db, "day", f"{erased} was ill.", "", at=EARLIER)
    yield
    source = summaries.Source("summary", row(two, "summary", erased))
    keep_period(two.db, "month", f"A month with {erased}.", "", source, at=EARLIER)
    forget_row(one, "summary", erased)
    yield


def a_summary_of_a_fact(one, two, three, erased, left):
    accepted(one, f"I like {erased}")
    yield
    source = summaries.Source("fact", row(two, "fact", erased))
    keep_period(two.db, "week", f"{erased} is liked.", "", source, at=EARLIER)
    forget_row(one, "fact", erased)
    yield


def an_imported_message(one, two, three, erased, left):
    imported(one, erased)
    yield
    imported(two, erased)
    forget_row(one, "message", erased)
    yield


def a_value_in_its_place(one, two, three, erased, left):
    accepted(one, f"My cat is called {erased}")
    yield
    forget_row(one, "fact", erased)
    accepted(one, f"My cat is called {left}")
    yield


CASES = [each for name, each in [*globals().items()] if getattr(each, "__code__", None) and each.__code__.co_flags & 32]


def row(machine, table, words):
    text = "statement" if table == "fact" else "text"
    return machine.ids(f"select id from {table} where {text} like ? order by id", f"%{words}%")[0]


def note(machine, words):
    notes.add(machine.db, HERE, words, machine.time)


def edit(machine, words, instead):
    notes.edit(machine.db, notes.get(machine.db, row(machine, "note", words), "person"), instead, "", machine.time)


def said(machine, words):
    say(machine.db, sessions.start(machine.db, HERE, machine.time()), words, machine.time())


def accepted(machine, statement):
    adoption.add(machine.memory, adoption.claim(statement, "typed", machine.time()))


def learned(machine, words, statement, quote=""):
    message = row(machine, "message", words)
    said = quote or machine.db.value("select text from message where id = ?", (message,))
    adoption.add(machine.memory, adoption.claim(statement, "typed", machine.time(), message=message, quote=said))


def imported(machine, words):
    messages = f'[{{"id": "m{words}", "role": "user", "content": "I saw {words} today."}}]'
    line = f'{{"id": "{words}", "messages": {messages}}}'
    transfer.import_lines(machine.db, HERE, [line], "other", machine.time, pytest.fail)


def forget_row(machine, table, words):
    forget(machine, ids.handle(table, row(machine, table, words)))


# Who reads whom after both have written: "31" is that `three` reads what `one` wrote, "312" that of both at once.
ORDERS = ["32 31", "31 32", "312", "31 23 13", "23 31 12", "21 32 13"]
ALL = "123 213 312 " * 3


@pytest.mark.parametrize("order", ORDERS)
def test_what_is_forgotten_is_nowhere_and_what_else_was_said_is_everywhere(tmp_path, order):
    machines = [Machine(tmp_path, each, file=False) for each in ("one", "two", "three")]
    two = machines[1]
    two.now = two.now.replace(hour=14)  # so that its ids are the later ones
    words = [(f"Zq{number:02}weg", f"Zq{number:02}bleibt") for number, _ in enumerate(CASES)]
    lives = [case(*machines, *each) for case, each in zip(CASES, words, strict=True)]
    for life in lives:
        next(life)
    read("12 21 31 12", machines)
    for life in lives:
        next(life)
    read("1 2", machines)
    for each in machines:
        shutil.copytree(each.root / KEY / each.name, tmp_path / "old" / each.name)
    for step in order.split():
        read(step, machines)
        if step.startswith("31"):
            assert [*map(next, lives, (None for _ in lives))] == [None for _ in lives]
    made = {word for each in machines for word in re.findall(r"Zq\d+bleibt", repr(each.rows()))}
    read(ALL, machines)
    check(machines, made)
    for each in machines:  # all that was written before comes again
        for path in [path for path in (each.root / KEY).iterdir() if path.name != each.name]:
            shutil.rmtree(path)
            shutil.copytree(tmp_path / "old" / path.name, path)
        with each.db.write():
            changes.drop_positions(each.db, [each.name])
        each.exchange()
        assert re.findall(r"Zq\d+weg", repr(each.rows())) == []
    read(ALL, machines)
    check(machines, made)
    for each in machines:
        each.db.close()


def read(steps, machines):
    for reader, *others in steps.split():
        for other in others:
            carry(machines[int(other) - 1], machines[int(reader) - 1])
        machines[int(reader) - 1].exchange()


def check(machines, made):
    for each in machines:
        held = repr(each.rows())
        assert sorted({*re.findall(r"Zq\d+weg", held + each.files().decode(errors="replace"))}) == []
        assert sorted(made - {*re.findall(r"Zq\d+bleibt", held)}) == []
    assert differences(*machines) == []
