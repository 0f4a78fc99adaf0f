"""What the machines of one person know after an exchange, whatever happened to the folder, a file or a clock."""

import os
import shutil
from datetime import UTC, datetime, timedelta

import pytest

from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.dates import due_times
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.forgetting import forget as erasing
from agent_cli.memory.lifecycle import closing, rewind
from agent_cli.memory.planner import notes, tasks
from agent_cli.memory.scope import Scope
from agent_cli.memory.search import index
from agent_cli.memory.skills import skills
from agent_cli.memory.summaries import summaries
from agent_cli.memory.sync import exchange, merge
from agent_cli.memory.transfers import transfer
from agent_cli.messages import Message
from agent_cli.store import changes, jobs, segments
from tests.conftest import HERE, NOON
from tests.forgetting import keep_period, planned
from tests.recalling import reply, say
from tests.syncing import Machine, carry


@pytest.fixture
def one(tmp_path):
    yield from machine(tmp_path, "one")


@pytest.fixture
def two(tmp_path):
    yield from machine(tmp_path, "two")


@pytest.fixture
def three(tmp_path):
    yield from machine(tmp_path, "three")


def machine(path, name):
    made = Machine(path, name)
    yield made
    made.db.close()


def meet(*machines, times=3):
    """Let all exchange until they have all; gives what the last of them left for the next time."""
    left = []
    for _ in range(times):
        for each in machines:
            for other in machines:
                if other is not each:
                    carry(other, each)
            left = each.exchange().left
    assert differences(*machines) == []
    return left


def differences(first, *others):
    """The columns of rows that another machine has otherwise."""
    rows = first.rows()
    return [
        (name, column, rows.get(name, {}).get(column), found.get(name, {}).get(column))
        for other in others
        for found in [other.rows()]
        for name in sorted({*rows, *found})
        for column in sorted({*rows.get(name, {}), *found.get(name, {})})
        if rows.get(name, {}).get(column) != found.get(name, {}).get(column)
    ]


def later(machine):
    """Let what changes on this machine from now on be later than what changed on the others."""
    with machine.db.write():
        machine.db.execute("update sync_state set clock = 60000 + cast(unixepoch('subsec') * 1000 as integer)")


def accept(machine, statement, at=None):
    memory = machine.memory
    return adoption.add(memory, adoption.claim(statement, "typed", at or machine.time(), learned=at)).fact


def listed(machine, state="accepted"):
    return {each.statement for each in facts.listing(machine.db, "person", 99, states=(state,))}


def noted(machine, *, hidden=False):
    return [each.text for each in notes.listing(machine.db, "person", 99, hidden=hidden)]


def forget(machine, handle):
    erasing.erase(machine.db, planned(machine.db, handle), machine.time)


def cut_off(machine):
    """End an exchange as soon as it has read a segment, before it is settled."""

    def end(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        exchange.run(machine.memory, machine.root, end)


@pytest.mark.parametrize("at_once", [False, True])
def test_a_note_that_was_changed_on_both_machines_has_both_wordings_on_each_when_it_has_read(one, two, at_once):
    note = notes.add(one.db, HERE, "the key is under the mat", one.time)
    meet(one, two)
    notes.edit(one.db, note, "the key is under the stone", "", one.time)
    later(two)
    notes.edit(two.db, notes.get(two.db, 1, "person"), "the key is at Clara's", "", two.time)
    both = "the key is at Clara's\n\n(On another machine, 2026-01-02 12:00: the key is under the stone)"
    one.exchange()
    if at_once:
        two.exchange()
        carry(two, one)
    carry(one, two)
    if at_once:
        one.exchange()
        assert noted(one) == [both]
    for each, other in ((two, one), (one, two)) * 2:
        sent = each.exchange().sent
        carry(each, other)
        assert noted(each) == [both]
    assert (sent, differences(one, two)) == (0, [])
    notes.edit(one.db, note, "the key is in my bag", "", one.time)
    meet(one, two)
    assert noted(two) == ["the key is in my bag"]


def test_a_note_keeps_both_wordings_when_the_exchange_ends_in_the_middle(one, two):
    note = notes.add(one.db, HERE, "the key is under the mat", one.time)
    meet(one, two)
    notes.edit(one.db, note, "the key is under the stone", "", one.time)
    later(two)
    notes.edit(two.db, notes.get(two.db, 1, "person"), "the key is at Clara's", "", two.time)
    two.exchange()
    carry(two, one)

    cut_off(one)
    meet(one, two)
    assert "the key is under the stone" in noted(two)[0]


@pytest.mark.parametrize("damage", [lambda file: file[:-1000], lambda file: file[:5000] + b"?" + file[5001:]])
def test_what_is_forgotten_is_erased_elsewhere_though_an_own_segment_is_damaged(one, two, damage):
    notes.add(one.db, HERE, "the Zwetschge is ripe", one.time)
    meet(one, two)
    (path,) = (each.path for each in segments.open_folder(one.db, one.root).segments("one"))
    path.write_bytes(damage(path.read_bytes()))
    path.with_name(".2-2.99999.part").write_bytes(b"left by a process that was killed")
    forget(one, "n1")
    notes.add(one.db, HERE, "the plum is ripe", one.time)
    meet(one, two)
    assert noted(two) == ["the plum is ripe"]
    assert [each.name for each in path.parent.iterdir() if each == path or each.suffix == ".part"] == []


def test_what_is_no_segment_in_the_folder_is_passed_over(one, two):
    meet(one, two)
    there = segments.open_folder(one.db, one.root).path
    for name in (b"\xff", b"a\x1b[31m", b".stversions"):
        os.mkdir(os.path.join(os.fsencode(there), name))
    (there / "three").write_text("no folder")
    os.mkfifo(there / "two" / "00000002-00000002-0-00000000.segment")
    notes.add(two.db, HERE, "the plum is ripe", two.time)
    meet(one, two)
    assert segments.open_folder(one.db, one.root).machines() == ["one", "two"]
    assert noted(one) == ["the plum is ripe"]


def test_values_of_two_machines_follow_each_other_by_date(one, two):
    accept(one, "I live in Graz", NOON - timedelta(days=90))
    accept(two, "I live in Wels", NOON - timedelta(days=9))
    meet(one, two)
    for each in (one, two):
        assert (listed(each), listed(each, "superseded")) == ({"I live in Wels"}, {"I live in Graz"})


def test_what_two_machines_learned_on_one_day_and_disagrees_waits_for_the_person(one, two):
    accept(one, "I live in Graz")
    accept(two, "I live in Wels")
    meet(one, two)
    for each in (one, two):
        assert (len(listed(each)), len(listed(each, "pending"))) == (1, 1)
    waiting = facts.FACTS.pending(two.db, "person")[0]
    adoption.accept(two.memory, waiting)
    meet(one, two)
    assert listed(one) == {waiting.statement}


def test_a_value_in_the_place_of_one_that_was_forgotten_does_not_wait_for_a_yes(one, two):
    accept(one, "I live in Graz")
    meet(one, two)
    forget(one, "f1")
    accept(one, "I live in Wels")
    one.exchange()
    carry(one, two)

    cut_off(two)
    merge.take_waiting(two.memory, merge.Taken())
    merge.erase(two.memory, merge.Taken())  # and cut off again
    meet(one, two)
    for each in (one, two):
        assert (listed(each), listed(each, "pending")) == ({"I live in Wels"}, set())


def test_a_fact_that_both_machines_know_is_listed_once(one, two):
    accept(one, "I like tea")
    accept(two, "I like tea")
    meet(one, two)
    for each in (one, two):
        assert len(facts.listing(each.db, "person", 99)) == 1


def test_a_task_done_on_one_machine_is_done_on_the_other_and_a_reminder_comes_once(one, two):
    due = due_times.parse("today 12:30", NOON, "UTC")
    tasks.add(one.db, HERE, "call the dentist", None, one.time)
    meet(one, two)
    tasks.complete(two.db, tasks.get(two.db, 1, "person"), two.time)
    meet(one, two)
    assert [each.text for each in tasks.listing(one.db, "person", "done")] == ["call the dentist"]
    tasks.add(one.db, HERE, "drink", due, one.time)
    meet(one, two)
    one.now = two.now = NOON + timedelta(hours=1)
    assert len(tasks.claim_due(one.db, "person", one.time, timedelta(hours=1))) == 1
    meet(one, two)
    assert tasks.claim_due(two.db, "person", two.time, timedelta(hours=1)) == []


def test_of_two_skills_with_one_name_the_later_counts(one, two):
    for each, steps in ((one, "Boil water."), (two, "Boil milk.")):
        skills.add(each.memory, skills.compose("make-tea", "Makes tea", steps))
    meet(one, two)
    found = [[each.text for each in skills.listing(each_.db, "person")] for each_ in (one, two)]
    assert found[0] == found[1]
    assert len(found[0]) == 1
    skill = skills.listing(one.db, "person")[0]
    skills.edit(one.memory, skill, skill.text.replace("Boil", "Heat"))
    meet(one, two)
    assert "Heat" in skills.listing(two.db, "person")[0].text


def test_summaries_of_one_day_become_one_that_is_made_anew(one, two):
    for each, words in ((one, "They spoke of tea."), (two, "They spoke of milk.")):
        keep_period(each.db, "day", words, "")
    meet(one, two)
    for each in (one, two):
        assert each.db.value("select count(*) from summary") == 1
        assert jobs.is_pending(each.db, "grain")
    with one.db.write():
        summaries.erase(one.db, [1])
    meet(one, two)
    assert two.db.value("select count(*) from summary") == 0
    carry(two, one)
    assert one.exchange().sent == 0


def test_an_imported_conversation_is_one_on_all_machines(one, two, three):
    line = (
        '{"id": "c1", "messages": [{"id": "m1", "role": "user", "content": "My cat is called Minka. I had soup."}, '
        '{"id": "m2", "role": "assistant", "content": "hello", "calls": [{"id": "x", "name": "t", "arguments": {}}]}]}'
    )
    two.now += timedelta(hours=1)  # so that its ids become those of both
    for each in (one, two):
        assert transfer.import_lines(each.db, HERE, [line], "other", each.time, pytest.fail).messages == 2
        adoption.add(each.memory, adoption.claim("I had soup", "typed", each.time(), message=1, quote="I had soup."))
    meet(one, two)
    for each in (one, two):
        counted = [each.db.value(f"select count(*) from {name}") for name in ("session", "tool_call", "message")]
        assert counted == [1, 1, 2]
    forget(one, "m1.1")
    meet(one, two)
    for each in (one, two):
        each.db.truncate_journal()
        assert b"Minka" not in each.files()  # nor under an id that the message no longer has
    meet(one, two, three)
    forget(one, "m1")
    meet(one, two)
    assert two.db.value("select count(*) from message") == 0


def test_what_was_hidden_or_taken_back_is_so_on_the_other_machine(one, two):
    session = sessions.start(one.db, HERE, one.time())
    say(one.db, session, "my cat is called Minka")
    reply(one.db, session, "a fine name")
    note = notes.add(one.db, HERE, "cat food", one.time)
    meet(one, two)
    rewind.take_back(one.db, session, "person", 1, one.time)
    notes.hide(one.db, note, one.time)
    meet(one, two)
    assert (log.history(two.db, 1), noted(two)) == ([], [])


def test_what_retention_deletes_on_one_machine_stays_on_the_other_and_does_not_return(one, two):
    session = sessions.start(one.db, HERE, one.time())
    say(one.db, session, "my cat is called Minka")
    closing.close(one.db, session, one.time)
    meet(one, two)
    with one.db.write(), changes.during(one.db, "removing"):
        summaries.erase(one.db, [1])
    sessions.change(two.db, 1, title="about the cat")
    with two.db.write():
        two.db.execute("update summary set pinned = 1")
    for each in (one, two, one):
        carry(*((two, one) if each is one else (one, two)))
        each.exchange()
    assert (one.db.value("select count(*) from summary"), two.db.value("select count(*) from summary")) == (0, 1)
    assert one.db.value("select title from session") == "about the cat"


def test_a_conversation_that_goes_on_is_not_closed_by_another_machine(one, two):
    session = sessions.start(one.db, HERE, one.time())
    say(one.db, session, "hello")
    meet(one, two)
    closing.close(two.db, 1, two.time)
    meet(one, two)
    assert one.db.value("select closed_at from session") is None
    closing.close(one.db, session, one.time)
    meet(one, two)
    assert two.db.value("select closed_at from session")


def test_clocks_that_differ_by_hours_do_not_turn_changes_round(one, two):
    one.now -= timedelta(hours=9)
    with two.db.write():  # as after many changes by a clock that is ahead
        two.db.execute("update sync_state set clock = ?", (int(datetime(2031, 1, 1, tzinfo=UTC).timestamp() * 1000),))
    note = notes.add(two.db, HERE, "first", two.time)
    notes.edit(two.db, note, "second", "", two.time)
    meet(one, two)
    notes.edit(one.db, notes.get(one.db, 1, "person"), "third", "", one.time)
    meet(one, two)
    assert noted(one) == noted(two) == ["third"]


def test_a_machine_that_was_away_for_a_year_catches_up_and_brings_back_nothing(one, two):
    session = sessions.start(one.db, HERE, one.time())
    say(one.db, session, "my cat is called Minka")
    note = notes.add(one.db, HERE, "first", one.time)
    meet(one, two)
    away = notes.add(two.db, HERE, "written on the island", two.time)
    for number in range(40):
        notes.edit(one.db, note, f"edited {number} times", "", one.time)
        notes.add(one.db, HERE, f"written in between {number}", one.time)
        one.now += timedelta(days=9)
        one.exchange()
    forget(one, "m1")
    two.now += timedelta(days=365)
    meet(one, two)
    assert two.db.value("select count(*) from message") == 0
    between = [f"written in between {number}" for number in range(40)]
    assert sorted(noted(one)) == sorted(noted(two)) == sorted(["edited 39 times", away.text, *between])
    assert len(segments.open_folder(one.db, one.root).segments("one")) < 35


def test_a_segment_that_is_cut_short_or_missing_is_left_for_the_next_time(one, two):
    for word in ("first", "second", "third"):
        notes.add(one.db, HERE, word, one.time)
        one.exchange()
    carry(one, two)
    _, second, _ = sorted(two.root.rglob("*.segment"))
    whole = second.read_bytes()
    second.write_bytes(whole[:-100])
    assert two.exchange().left == [f"{second.name} of one has not come whole yet: it is read the next time"]
    second.write_bytes(b"x" * len(whole))
    assert "delete that file, and one writes it anew" in two.exchange().left[0]
    second.unlink()
    assert two.exchange().left == ["a part of what one wrote has not come yet: the rest is read the next time"]
    assert noted(two) == ["first"]
    second.write_bytes(whole)
    assert (two.exchange().left, len(noted(two))) == ([], 3)


def test_a_folder_restored_from_last_month_gets_again_what_it_lost(one, two, tmp_path):
    notes.add(one.db, HERE, "first", one.time)
    one.exchange()
    shutil.copytree(one.root, tmp_path / "backup")
    note = notes.add(one.db, HERE, "second", one.time)
    notes.edit(one.db, note, "better", "", one.time)
    one.exchange()
    shutil.rmtree(one.root)
    shutil.copytree(tmp_path / "backup", one.root)
    one.exchange()
    carry(one, two)
    assert (two.exchange().left, sorted(noted(two))) == ([], ["better", "first"])


def test_a_database_copied_by_hand_is_another_machine(one, two):
    notes.add(one.db, HERE, "first", one.time)
    meet(one, two)
    notes.add(one.db, HERE, "unsent", one.time)
    for _ in one.db.copy_into(two.db):
        pass
    notes.add(one.db, HERE, "on one", one.time)
    notes.add(two.db, HERE, "on two", two.time)
    assert meet(one, two) == []
    assert sorted(noted(one)) == sorted(noted(two)) == ["first", "on one", "on two", "unsent"]


def test_a_database_restored_from_a_backup_reads_what_it_wrote_since_and_forgets_again(one, two, tmp_path):
    session = sessions.start(one.db, HERE, one.time())
    say(one.db, session, "my cat is called Minka")
    meet(one, two)
    backup = Machine(tmp_path, "backup")
    for _ in one.db.copy_into(backup.db):
        pass
    notes.add(one.db, HERE, "after the backup", one.time)
    forget(one, "m1")
    meet(one, two)
    for _ in backup.db.copy_into(one.db):
        pass
    backup.db.close()
    assert one.db.value("select count(*) from message") == 1
    notes.add(one.db, HERE, "after the restore", one.time)
    meet(one, two)
    assert one.db.value("select count(*) from message") == 0
    assert sorted(noted(two)) == ["after the backup", "after the restore"]


def test_a_forgotten_summary_is_erased_elsewhere_with_what_was_made_of_it(one, two):
    keep_period(one.db, "day", "Minka was ill.", "")
    meet(one, two)
    keep_period(two.db, "month", "A month with Minka.", "", summaries.Source("summary", 1))
    forget(one, "y1")
    meet(one, two)
    assert b"inka" not in two.files()


def test_a_summary_whose_deletion_comes_from_two_machines_leaves_the_index_whole(one, two, three):
    keep_period(one.db, "day", "They spoke of tea with milk.", "")
    notes.add(one.db, HERE, "Minka is fed at noon", one.time)
    meet(one, two, three)
    session = sessions.start(three.db, HERE, three.time())
    asked = log.open_reply(three.db, session, HERE, "offline", three.time())
    quoted = Message("assistant", "They spoke of tea with milk.")
    log.close_reply(three.db, asked, quoted, "stop", log.Usage("offline"), three.time())
    index.refresh_all(three.db)
    with one.db.write():  # as an undo does
        summaries.erase(one.db, [1])
    meet(one, two)
    meet(one, two, three)
    assert [each.message.text for each in log.history(three.db, session)] == [quoted.text]
    forget(three, "n1")
    three.db.truncate_journal()
    assert b"minka" not in three.files()


def test_what_was_forgotten_is_in_no_segment_and_comes_back_from_no_old_one(one, two, tmp_path):
    session = sessions.start(one.db, HERE, one.time())
    say(one.db, session, "my cat is called Minka. It sleeps.")
    reply(one.db, session, "a fine name")
    say(one.db, session, "I had soup in Salzburg. It was good.")
    meet(one, two)
    shutil.copytree(one.root, tmp_path / "old")
    forget(two, "m1")
    forget(two, "m3.1")
    meet(one, two)
    for each in (one, two):
        each.db.truncate_journal()
        assert not any(word in each.files() for word in (b"Minka", b"Salzburg"))
        assert [entry.message.text for entry in log.history(each.db, 1)] == ["(erased) It was good."]
    for path in (tmp_path / "old").rglob("*.segment"):
        shutil.copyfile(path, two.root / path.relative_to(tmp_path / "old"))
    with two.db.write():
        changes.set_position(two.db, "one", 0)
    two.exchange()
    two.db.truncate_journal()
    assert b"Minka" not in two.files()


@pytest.mark.parametrize("days", [-9, 9])
def test_what_was_said_before_its_erasure_was_known_does_not_return_whatever_the_clock_says(one, two, days):
    words = "My cat is called Minka the Great"
    two.now += timedelta(days=days)
    notes.add(one.db, HERE, words, one.time)
    accept(one, words)
    forget(one, "n1")
    forget(one, "f1")
    notes.add(two.db, HERE, words, two.time)
    accept(two, words)
    accept(two, "I like tea")
    meet(one, two)
    assert listed(one) == listed(two) == {"I like tea"}
    assert noted(one) == noted(two) == []
    for each in (one, two):
        notes.add(two.db, HERE, words, two.time)
        meet(one, two)
        assert noted(one) == noted(two) == [words]
        forget(each, f"n{each.ids('select id from note')[0]}")
        notes.add((two if each is one else one).db, HERE, words, one.time)  # before it knows that
        meet(one, two)
        assert noted(one) == noted(two) == []


def test_an_import_on_another_machine_does_not_restore_what_was_forgotten(one, two):
    line = '{"id": "c1", "messages": [{"id": "m1", "role": "user", "content": "hello there, this is me"}]}'
    transfer.import_lines(one.db, HERE, [line], "other", one.time, pytest.fail)
    forget(one, "m1")
    meet(one, two)
    assert transfer.import_lines(two.db, HERE, [line], "other", two.time, pytest.fail).messages == 0


def test_sentences_cut_on_two_machines_at_once_stay_cut(one, two):
    session = sessions.start(one.db, HERE, one.time())
    say(one.db, session, "I saw Minka. I had soup. It rained.")
    meet(one, two)
    forget(one, "m1.1")
    forget(two, "m1.2")
    meet(one, two)
    text = one.db.value("select text from message")
    assert ("Minka" in text, "soup" in text, "rained" in text) == (False, False, True)


def test_an_exchange_that_was_killed_goes_on_where_it_was(one, two, monkeypatch):
    monkeypatch.setattr(exchange, "_PAGE", 3)
    for number in range(10):
        notes.add(one.db, HERE, f"note {number}", one.time)

    def killed(what, done, total):
        raise KeyboardInterrupt

    for machine in (one, two):
        while True:
            carry(one, two)
            try:
                exchange.run(machine.memory, machine.root, killed)
                break
            except KeyboardInterrupt:
                continue
    assert len(noted(two)) == 10
    assert len(segments.open_folder(one.db, one.root).segments("one")) == 4


def test_only_what_is_the_persons_goes_to_other_machines(one, two):
    notes.add(one.db, Scope("caller:bot", ""), "of a caller", one.time)
    notes.add(one.db, HERE, "of the person", one.time)
    meet(one, two)
    assert two.db.rows("select text from note") == [("of the person",)]


def test_a_machine_that_takes_part_again_is_read_again(one, two):
    for word in ("first", "second"):
        notes.add(one.db, HERE, word, one.time)
        meet(one, two)
    exchange.leave(one.db, one.root)
    one.name = segments.machine(one.db)
    notes.add(one.db, HERE, "while it took no part", one.time)
    meet(one, two)
    assert "while it took no part" in noted(two)


def test_the_folder_of_a_machine_that_is_gone_for_good_can_be_deleted(one, two, tmp_path):
    notes.add(one.db, HERE, "of one", one.time)
    meet(one, two)
    notes.add(two.db, HERE, "of two", two.time)
    meet(one, two)
    shutil.rmtree(segments.open_folder(one.db, one.root).path / "two")
    assert (one.exchange().left, sorted(noted(one))) == ([], ["of one", "of two"])
    assert one.exchange().sent == 0
    three = Machine(tmp_path, "three")
    carry(one, three)
    assert (three.exchange().left, sorted(noted(three))) == ([], ["of one", "of two"])
    three.db.close()


def test_an_exchange_that_is_killed_before_it_is_settled_is_settled_by_the_next(one, two):
    for each, words, place in ((one, "They spoke of tea.", "Graz"), (two, "They spoke of milk.", "Wels")):
        keep_period(each.db, "day", words, "")
        accept(each, f"I live in {place}")
    say(two.db, sessions.start(two.db, HERE, two.time()), "my cat is called Minka")
    two.exchange()
    carry(two, one)

    cut_off(one)
    assert (one.db.value("select count(*) from message"), jobs.is_pending(one.db, "grain")) == (1, False)
    assert one.exchange().left == []
    assert jobs.is_pending(one.db, "grain")
    assert (len(listed(one)), len(listed(one, "pending"))) == (1, 1)
    assert one.db.value("select unlearned_to from session") == 1


def test_an_old_segment_that_returns_to_the_folder_does_not_stay_there_with_erased_words(one, two, tmp_path):
    notes.add(one.db, HERE, "Minka is fed at noon", one.time)
    meet(one, two)
    shutil.copytree(one.root, tmp_path / "old")
    forget(one, "n1")
    meet(one, two)
    shutil.copytree(tmp_path / "old", one.root, dirs_exist_ok=True)
    assert b"Minka" in one.files()
    one.exchange()
    one.db.truncate_journal()
    assert b"Minka" not in one.files()


def test_two_copies_of_a_whole_home_and_a_third_machine_know_the_same_in_the_end(one, two, tmp_path):
    notes.add(one.db, HERE, "first", one.time)
    meet(one, two)
    twin = Machine(tmp_path / "twins", "one")
    for _ in one.db.copy_into(twin.db):
        pass
    shutil.copytree(one.root, twin.root, dirs_exist_ok=True)
    notes.add(one.db, HERE, "of one", one.time)
    notes.add(twin.db, HERE, "of its twin, which has somewhat more to say: " + "bla " * 3000, twin.time)
    one.exchange()
    twin.exchange()
    for _ in range(4):
        for each in (one, twin, two):
            for path in [path for other in (one, twin, two) for path in other.root.rglob("*.segment")]:
                target = each.root / path.parent.parent.name / path.parent.name / path.name
                target.parent.mkdir(parents=True, exist_ok=True)
                if not target.exists():
                    shutil.copyfile(path, target)
            each.exchange()
    assert differences(one, twin, two) == []
    assert len(noted(two)) == 3
    twin.db.close()


def test_what_changed_before_it_was_turned_on_is_sent_whole_and_turning_it_off_ends_it(one, two):
    two.exchange()
    exchange.leave(two.db, two.root)
    two.name = segments.machine(two.db)
    assert (changes.is_on(two.db), list(two.root.rglob("*.segment"))) == (False, [])
    notes.add(two.db, HERE, "meanwhile", two.time)
    assert changes.count_unsent(two.db) == 0
    meet(one, two)
    assert noted(one) == ["meanwhile"]
