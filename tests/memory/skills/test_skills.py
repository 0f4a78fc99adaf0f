"""Skills are written, changed, offered beside the question that they are about, and erased."""

from datetime import timedelta

import pytest

from agent_cli.errors import UsageError
from agent_cli.llm.embedded import EmbeddedEmbedder
from agent_cli.memory.conversations import sessions
from agent_cli.memory.forgetting import erasure_receipt
from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.scope import Scope
from agent_cli.memory.search import index, recall, vectors
from agent_cli.memory.search.candidates import Filter
from agent_cli.memory.skills import skills
from tests.conftest import HERE, NOON, memory_of, noon
from tests.forgetting import about, erase, learn, planned, traces
from tests.recalling import handles, say
from tests.tables import for_each, listed

DEPLOY = skills.compose("deploy-site", "Publish the site: use when the person wants it online", "1. build\n2. rsync")
BETTER = DEPLOY.replace("2. rsync", "2. run the tests\n3. rsync")


def found(db, words):
    index.refresh_all(db)
    return [hit.handle for hit in recall.find(db, words, Filter("person", ("skill",)), NOON).hits]


def test_what_the_person_writes_is_a_skill_at_once_and_is_found_and_what_waits_is_with_the_yes(db):
    skill = skills.add(memory_of(db), DEPLOY)
    assert (skill.handle, skill.name, skill.state, skill.version) == ("k1", "deploy-site", "accepted", 1)
    assert skill.body == "1. build\n2. rsync"
    waiting = skills.propose(memory_of(db), skills.compose("water-plants", "Water the plants", "1. water"))
    assert (found(db, "publish site"), found(db, "water plants")) == (["k1"], [])
    skills.accept(memory_of(db), waiting)
    assert found(db, "water plants") == ["k2"]


def test_a_change_waits_and_becomes_the_next_version(db):
    skill = skills.add(memory_of(db), DEPLOY)
    change = skills.propose(memory_of(db), BETTER, base=1)
    assert (change.target_id, change.base, skills.get(db, 1, "person").text) == (skill.id, 1, DEPLOY)
    now = skills.accept(memory_of(db), change)
    assert (now.id, now.version, now.text) == (skill.id, 2, BETTER)
    assert [(each.was["version"], each.was["text"]) for each in skills.former(db, now)] == [(1, DEPLOY)]
    assert [each.handle for each in skills.listing(db, "person")] == ["k1"]
    assert found(db, "tests rsync") == ["k1"]


def test_an_older_version_can_be_the_present_one_again(db):
    skill = skills.edit(memory_of(db), skills.add(memory_of(db), DEPLOY), BETTER)
    now = skills.restore(memory_of(db), skill, version=1)
    assert (now.version, now.text) == (3, DEPLOY)
    with pytest.raises(UsageError, match="has no version 9"):
        skills.restore(memory_of(db), now, version=9)


def test_a_skill_that_was_hidden_while_it_was_edited_is_left_as_it_is(db):
    skill = skills.add(memory_of(db), DEPLOY)
    hidden = skills.hide(memory_of(db), skill)
    with pytest.raises(UsageError, match="k1 was changed meanwhile"):
        skills.edit(memory_of(db), skill, BETTER)
    assert skills.get(db, skill.id, "person") == hidden


def test_a_rejected_skill_is_not_proposed_again_nor_one_that_is_known(db):
    skills.reject(memory_of(db), skills.propose(memory_of(db), DEPLOY))
    assert skills.propose(memory_of(db), DEPLOY) is None
    skills.add(memory_of(db), BETTER)
    assert skills.propose(memory_of(db), BETTER) is None


def test_a_decision_is_taken_back_with_all_that_came_with_it(db):
    skill = skills.add(memory_of(db), DEPLOY)
    change = skills.propose(memory_of(db), BETTER)
    skills.accept(memory_of(db, batch="b"), change)
    back = skills.undo_batch(memory_of(db), "b")
    assert {(each.handle, each.state, each.version) for each in back} == {("k1", "accepted", 1), ("k2", "pending", 1)}
    assert skills.get(db, skill.id, "person").text == DEPLOY
    assert found(db, "publish site") == ["k1"]


def test_proposals_of_a_model_wait_in_small_numbers_and_not_for_ever(db):
    for number in range(skills.SKILLS.max_pending + 2):
        skills.propose(memory_of(db), DEPLOY.replace("deploy-site", f"deploy-{number}"))
    assert [each.name for each in skills.pending(db, "person")][:1] == ["deploy-2"]
    later = NOON + timedelta(days=30) + timedelta(days=1)
    assert skills.SKILLS.expire_old(memory_of(db, lambda: later)) == skills.SKILLS.max_pending + 2


def test_a_model_writes_no_secret_into_a_skill(db):
    text = DEPLOY.replace("2. rsync", "2. rsync with the key ghp_16C7e42F292c6912E7710c838347Ae178B4a")
    assert "ghp_" not in skills.propose(memory_of(db), text).text


def test_no_two_skills_have_one_name(db):
    skills.add(memory_of(db), DEPLOY)
    with pytest.raises(UsageError, match="agent skills edit deploy-site"):
        skills.add(memory_of(db), BETTER)
    hidden = skills.hide(memory_of(db), skills.named(db, "person", "deploy-site"))
    skills.add(memory_of(db), BETTER)
    with pytest.raises(UsageError, match="another skill deploy-site meanwhile"):
        skills.restore(memory_of(db), hidden)


RENAMED = DEPLOY.replace("name: deploy-site", "name: put-online")


def test_a_former_name_that_another_skill_has_meanwhile_is_not_brought_back(db):
    skills.add(memory_of(db), DEPLOY)
    change = skills.edit(memory_of(db), skills.propose(memory_of(db), BETTER), RENAMED)
    renamed = skills.accept(memory_of(db, batch="b"), change)
    skills.add(memory_of(db), BETTER)
    for bring_back in (
        lambda: skills.restore(memory_of(db), renamed, version=1),
        lambda: skills.undo_batch(memory_of(db), "b"),
    ):
        with pytest.raises(UsageError, match="another skill deploy-site meanwhile, k3: hide that first"):
            bring_back()
        assert skills.get(db, 1, "person") == renamed


def test_a_decision_is_taken_back_when_the_skill_it_was_to_change_is_erased(db):
    skill = skills.add(memory_of(db), DEPLOY)
    change = skills.propose(memory_of(db), BETTER)
    skills.hide(memory_of(db), skill)
    skills.accept(memory_of(db, batch="b"), change)
    with db.write():
        skills.erase(db, [skill.id])
    assert [(each.handle, each.state, each.target_id) for each in skills.undo_batch(memory_of(db), "b")] == [
        ("k2", "pending", None)
    ]


@for_each(
    ("text", "why"),
    [
        ("", "begins with a line ---"),
        ("# Deploy\nrsync", "begins with a line ---"),
        ("---\nname: a\n---\nx", "must have a name and a description"),
        ("---\nname: Deploy Site\ndescription: d\n---\nx", "not a valid name of a skill"),
        ("---\nname: k3\ndescription: d\n---\nx", "'k3' is the form of a handle"),
        ("---\nname: 12\ndescription: d\n---\nx", "'12' is the form of a handle"),
        ("---\nname: a\ndescription: a: b\n---\nx", r"not YAML \(line 3\)"),
        ("---\n- a\n---\nx", "lines name: and description:"),
        ("---\nname: a\ndescription: d\n---\n \n", "needs steps"),
        ("---\nname: a\ndescription: d\n---\n" + "x" * 20_000, "at most 20000 characters"),
        ("---\nname: a\ndescription: " + "d" * 1025 + "\n---\nx", "at most 1024 characters"),
        ('---\nname: a\ndescription: "\\UFFFFFFFF"\n---\nx', "not YAML"),
        ("---\nname: a\ndescription: !!timestamp\n---\nx", "must have a name and a description"),
    ],
)
def test_what_is_no_skill_is_refused_in_words(text, why):
    with pytest.raises(UsageError, match=why):
        skills.parse(text)


@for_each(
    "line",
    [
        *listed("""released: !!timestamp soon | draft: !!bool perhaps | level: !!int '' | day: 2026-02-31
        license: !mine MIT"""),
        f"x: 1{':1' * 300}.5",
    ],
)
def test_what_else_the_front_matter_says_is_left_as_it_is(line):
    file = skills.parse(f"---\nname: a\ndescription: d\n{line}\n---\nsteps\n")
    assert (file.name, file.description, file.body) == ("a", "d", "steps")


def test_front_matter_that_grows_when_it_is_read_is_not_let_grow():
    lines = [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 40)]
    text = "\n".join(["---", "name: a", "description: d", "a0: &a0 {x: 1}", *lines, "---", "steps"])
    assert skills.parse(text).body == "steps"


def test_a_file_is_kept_character_by_character(db):
    text = "\ufeff---\r\nname: a\r\ndescription: >\r\n  folded\r\n  text\r\nlicense: MIT\r\n---\r\nsteps\t\r\n\r\n"
    skill = skills.add(memory_of(db), text)
    assert (skill.text, skill.description, skill.body) == (text, "folded text", "steps")


SKILLS = {
    "deploy-site": "Publish the personal website with rsync. Use when the person wants a page online.",
    "release-python-package": "Bump the version, build and upload a Python package to PyPI.",
    "invoice-client": "Write an invoice for a client as PDF from the template. Use when hours are to be billed.",
    "weekly-review": "Go through calendar, inbox and open tasks and plan the next week. Use on Friday afternoons.",
    "bake-sourdough": "Bake a sourdough loaf from the starter: times, temperatures and folds.",
    "restore-backup": "Bring files back from the restic backup. Use when something was deleted or a disk failed.",
    "book-train": "Book a train journey: seat reservation, Vorteilscard and receipts. Use for business travel.",
    "docker-cleanup": "Free disk space taken by Docker images, volumes and build cache.",
    "onboard-colleague": "Prepare accounts, laptop and a first-week plan for a new colleague.",
    "customer-complaint": "Answer an angry customer's email politely and offer a solution.",
    "meeting-minutes": "Turn rough notes of a meeting into minutes with decisions and action items.",
    "notizen-ordnen": "会議のメモを整理する。Use when notes of a meeting in Japanese are to be put in order.",
}
ASKED = {
    "Can you publish the new page on my website?": "deploy-site",
    "Make a new release of the package and upload it to PyPI": "release-python-package",
    "Please write the invoice for Müller GmbH for October": "invoice-client",
    "It's Friday, let's do the weekly review": "weekly-review",
    "How do I bake my sourdough again?": "bake-sourdough",
    "I deleted a folder by accident, get it back from the backup": "restore-backup",
    "Book me a train to Vienna on Monday": "book-train",
    "My disk is full of docker images": "docker-cleanup",
    "A new colleague starts on Monday, what has to be prepared?": "onboard-colleague",
    "A customer is angry about the delivery, draft an answer to his email": "customer-complaint",
    "会議のメモを整理して": "notizen-ordnen",
    "Make minutes of the meeting. " + "And then he said that it was all very well, but who would pay? " * 60: (
        "meeting-minutes"
    ),
}
UNRELATED = [
    *listed("""hello | ?! | What is the capital of Australia? | When is my next dentist appointment?
    What did we talk about last week? | Which book am I reading? | What time is it in Tokyo?
    Did I write down my shoe size anywhere? | My boss was angry today | I moved to a new flat in June
    Who was late for the train in that film? | Use fewer words please | 昨日の天気は？"""),
    "",
    "Where is the key? " + "It lay on the table in the hall the other day, and nobody knows who took it. " * 40,
]


@pytest.fixture(scope="module")
def embedder():
    return EmbeddedEmbedder()


@pytest.fixture
def skilled(db):
    for name, description in SKILLS.items():
        skills.add(memory_of(db), skills.compose(name, description, "1. this\n2. that"))
    index.refresh_all(db)
    return db


def offered(db, question, vector=None):
    return [each.name for each in skills.matching(db, "person", question, vector)]


def test_the_skill_that_a_question_is_about_is_offered_and_no_other(skilled):
    assert {question: offered(skilled, question) for question in ASKED} == {
        question: [name] for question, name in ASKED.items()
    }


def test_a_question_about_none_is_offered_none(skilled):
    assert {question: offered(skilled, question) for question in UNRELATED} == {question: [] for question in UNRELATED}


def test_meaning_offers_what_no_word_says_and_still_nothing_for_other_questions(skilled, embedder):
    among = vectors.create(skilled, embedder.identity(), embedder.dimension(), embedder.similarity_floor)
    while vectors.fill(skilled, among, embedder.embed_documents):
        pass

    def meant(question):
        return offered(skilled, question, embedder.embed_query(question))

    assert offered(skilled, "Let's bake some bread") == []
    assert meant("Let's bake some bread") == ["bake-sourdough"]
    assert [question for question, name in ASKED.items() if meant(question)[:1] != [name]] == []
    assert [question for question in UNRELATED if meant(question)] == []


def test_what_waits_or_is_hidden_or_belongs_to_another_is_not_offered(db):
    text = skills.compose("bake-sourdough", SKILLS["bake-sourdough"], "1. this")
    waiting = skills.propose(memory_of(db), text)
    skills.add(MemoryContext(db, Scope("other", ""), noon), text)
    question = "How do I bake sourdough?"
    assert offered(db, question) == []
    skill = skills.accept(memory_of(db), waiting)
    assert offered(db, question) == ["bake-sourdough"]
    skills.hide(memory_of(db), skill)
    assert offered(db, question) == []


def test_at_most_three_are_offered(db):
    for number in range(9):
        skills.add(memory_of(db), skills.compose(f"bake-{number}", "Bake a sourdough loaf", "1. this"))
    assert offered(db, "bake a sourdough loaf") == ["bake-0", "bake-1", "bake-2"]


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
