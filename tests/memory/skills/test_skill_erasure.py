"""What is forgotten leaves the skills that were learned from it."""

import pytest

from agent_cli.errors import UsageError
from agent_cli.memory.conversations import sessions
from agent_cli.memory.forgetting import erasure_receipt
from agent_cli.memory.search import index
from agent_cli.memory.skills import skills
from tests.conftest import HERE, NOON, memory_of, noon
from tests.forgetting import about, erase, learn, planned, traces
from tests.recalling import handles, say

SECRET = "Xk7Qv2Rm9Tz4Wb8Yc3Hd5Jf6"


@pytest.fixture
def code_session(file):
    """A session in which a code is mentioned, and then something else."""
    session = sessions.start(file, HERE, NOON)
    say(file, session, f"The code is {SECRET}.")
    say(file, session, "Turn the wheel slowly.")
    return session


def write(db, name, body):
    return skills.add(memory_of(db), skills.compose(name, f"How to {name}", body))


def bodies(db):
    """(handle, steps, version) of every skill in any state."""
    rows = db.rows("select id, text, version from skill order by id")
    return [(f"k{id}", skills.parse(text).body, version) for id, text, version in rows]


def test_a_skill_goes_back_to_its_newest_wording_that_was_not_learned_from_it(file, code_session):
    write(file, "open-safe", "Turn the wheel.")
    learn(file, code_session, "open-safe", "Turn the wheel slowly.")
    learn(file, code_session, "open-safe", f"Turn the wheel slowly to {SECRET}.")
    index.refresh_all(file)
    assert handles(file, SECRET) != []
    plan = planned(file, "m1")
    assert plan.format_lines()[-1] == "k1 open-safe: goes back to version 2"
    assert plan.format_counts == "1 message, 2 skills, 1 skill in part"
    receipt = erasure_receipt.erase(file, plan, noon)
    assert receipt.clean, receipt
    assert bodies(file) == [("k1", "Turn the wheel slowly.", 2)]
    assert traces(file.path, SECRET) == 0
    assert handles(file, "wheel", kinds=("skill",)) == ["k1"]
    assert [each.was["version"] for each in skills.former(file, skills.get(file, 1, "person"))] == [1]
    skill = skills.restore(memory_of(file), skills.get(file, 1, "person"), 1)
    assert (skill.body, skill.version) == ("Turn the wheel.", 3)


@pytest.mark.parametrize("last", [1, 3])
def test_what_the_person_wrote_before_and_brought_back_stays(file, code_session, last):
    write(file, "open-safe", "Turn the wheel.")
    learn(file, code_session, "open-safe", f"Turn the wheel slowly, the code is {SECRET}.")
    skill = skills.get(file, 1, "person")
    skill = skills.edit(memory_of(file), skill, f"{skill.text}\nThen push.\n")
    skill = skills.restore(memory_of(file), skill, version=1)
    if last == 3:
        skills.restore(memory_of(file), skill, version=3)
    erase(file, "s1")
    assert bodies(file) == [("k1", "Turn the wheel.", 4)]
    assert traces(file.path, SECRET) == 0


def test_a_version_in_between_goes_and_the_present_one_stays(file, code_session):
    write(file, "open-safe", "Turn the wheel.")
    learn(file, code_session, "open-safe", f"Turn the wheel slowly to {SECRET}.")
    skills.edit(memory_of(file), skills.get(file, 1, "person"), skills.compose("open-safe", "Opens it", "Turn it."))
    plan = planned(file, "m1")
    assert plan.format_lines()[-1] == "k1 open-safe: loses an earlier version"
    assert erasure_receipt.erase(file, plan, noon).clean
    assert bodies(file) == [("k1", "Turn it.", 3)]
    assert traces(file.path, SECRET) == 0
    assert [each.was["version"] for each in skills.former(file, skills.get(file, 1, "person"))] == [1]


def test_what_was_changed_later_and_still_says_it_goes_too(file, code_session):
    elsewhere = sessions.start(file, HERE, NOON)
    write(file, "open-safe", "Turn the wheel.")
    learn(file, code_session, "open-safe", f"Turn the wheel slowly to {SECRET}.")
    learn(file, elsewhere, "open-safe", f"Breathe. Then turn the wheel to {SECRET}.")
    learn(file, elsewhere, "open-safe", f"Breathe twice. Then turn the wheel to {SECRET}.", yes=False)
    learn(file, elsewhere, "open-safe", "Hum. Then turn the wheel.", yes=False)
    assert erase(file, "m1").clean
    assert [body for _, body, _ in bodies(file)] == ["Turn the wheel.", "Hum. Then turn the wheel."]
    assert traces(file.path, SECRET) == 0


def test_a_skill_of_which_nothing_is_left_is_erased_and_does_not_come_back(file, code_session):
    learn(file, code_session, "open-safe", f"Turn the wheel slowly to {SECRET}.")
    assert erase(file, "m1").clean
    assert bodies(file) == []
    assert file.rows("select * from skill_version") == []
    text = skills.compose("open-safe", "How to open-safe", f"Turn the wheel slowly to {SECRET}.")
    assert skills.propose(memory_of(file), text) is None


def test_proposals_go_with_the_session_they_were_learned_in_even_when_it_stays(file, code_session):
    learn(file, code_session, "wait", "Wait.", yes=False)
    skills.reject(memory_of(file), learn(file, code_session, "refuse", "Refuse.", yes=False))
    learn(file, sessions.start(file, HERE, NOON), "stay", "Stay.", yes=False)
    erase(file, "m1")
    assert [body for _, body, _ in bodies(file)] == ["Stay."]


def test_a_skill_learned_from_what_is_left_of_the_session_stays(file, code_session):
    learn(file, code_session, "turn", "Turn the wheel slowly, the code follows.")
    file.execute("update message set text = 'Turn the wheel slowly, then the code.' where id = 2")
    plan = planned(file, "m1")
    assert (plan.format_counts, plan.skills) == ("1 message", [])


def test_a_skill_that_the_person_wrote_with_the_same_words_is_named_and_stays(file, code_session):
    write(file, "open-safe", f"Remember: The code is {SECRET}.")
    receipt = erase(file, "m1")
    assert (receipt.rows, receipt.clean) == (["k1"], False)
    assert erase(file, "k1").clean
    assert traces(file.path, SECRET) == 0


def test_a_skill_goes_with_all_versions_and_the_proposals_to_change_it(file, code_session):
    write(file, "open-safe", f"Turn the wheel to {SECRET}.")
    skills.edit(memory_of(file), skills.get(file, 1, "person"), skills.compose("open-safe", "Opens it", "Turn it."))
    learn(file, None, "open-safe", "Turn it twice.", yes=False)
    plan = planned(file, "k1")
    assert [line[0] for line in plan.lines] == ["k1", "k2"]
    assert plan.format_counts == "2 skills"
    erasure_receipt.erase(file, plan, noon)
    assert (bodies(file), file.rows("select * from skill_version")) == ([], [])
    text = skills.compose("open-safe", "Opens it", "Turn it.")
    assert skills.propose(memory_of(file), text, origin="import") is None


def test_a_skill_stays_without_the_versions_that_say_a_topic(file):
    write(file, "open-safe", "Turn the wheel.")
    text = skills.compose("open-safe", "Opens it", "Ask Anna.")
    skills.edit(memory_of(file), skills.get(file, 1, "person"), text)
    write(file, "call", "Call Anna.")
    plan = about(file, "Anna")
    assert plan.format_counts == "1 skill, 1 skill in part"
    assert plan.format_lines()[-1] == "k1 open-safe: goes back to version 1"
    assert erasure_receipt.erase(file, plan, noon).clean
    assert bodies(file) == [("k1", "Turn the wheel.", 1)]
    assert traces(file.path, "ask anna") == 0


def test_a_skill_whose_former_name_is_taken_is_put_aside(file, code_session):
    write(file, "open-safe", "Turn the wheel.")
    learnt = learn(file, code_session, "open", f"Turn the wheel slowly to {SECRET}.", yes=False)
    with file.write():
        file.execute("update skill set target_id = 1 where id = ?", (learnt.id,))
    skills.accept(memory_of(file), skills.get(file, learnt.id, "person"))
    write(file, "open-safe", "Ask.")
    assert erase(file, "m1").clean
    rows = file.rows("select name, hidden_at is not null from skill order by id")
    assert rows == [("open-safe", 1), ("open-safe", 0)]
    with pytest.raises(UsageError, match="there is another skill open-safe meanwhile, k3"):
        skills.restore(memory_of(file), skills.get(file, 1, "person"))


def test_a_skill_stays_when_its_session_goes(file, code_session):
    learn(file, code_session, "sing", "La la la.")
    skills.hide(memory_of(file), skills.get(file, 1, "person"))
    skills.restore(memory_of(file), skills.get(file, 1, "person"))
    assert erase(file, f"s{code_session}").clean
    assert [(each.body, each.session_id) for each in skills.listing(file, "person")] == [("La la la.", None)]
    assert file.rows("select was ->> 'session_id' from skill_version where was is not null") == [(None,)] * 3
    assert file.rows("pragma foreign_key_check") == []
