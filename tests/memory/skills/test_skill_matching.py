"""Which skills are offered beside a question: the one that it is about, and none where it is about none."""

import pytest

from agent_cli.llm.embedded import EmbeddedEmbedder
from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.scope import Scope
from agent_cli.memory.search import index, vectors
from agent_cli.memory.skills import skills
from tests.conftest import memory_of, noon
from tests.tables import listed

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
    assert (skills.any_accepted(db, "person"), offered(db, question)) == (False, [])
    skill = skills.accept(memory_of(db), waiting)
    assert (skills.any_accepted(db, "person"), offered(db, question)) == (True, ["bake-sourdough"])
    skills.hide(memory_of(db), skill)
    assert (skills.any_accepted(db, "person"), offered(db, question)) == (False, [])


def test_at_most_three_are_offered(db):
    for number in range(9):
        skills.add(memory_of(db), skills.compose(f"bake-{number}", "Bake a sourdough loaf", "1. this"))
    assert offered(db, "bake a sourdough loaf") == ["bake-0", "bake-1", "bake-2"]
