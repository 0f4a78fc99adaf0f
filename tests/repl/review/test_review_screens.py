"""What the review looks like, whole, with the codes of its styles; `pytest --update-docs` writes the files anew."""

from datetime import timedelta
from pathlib import Path

import pytest

from agent_cli.memory.conversations import log
from agent_cli.memory.facts import adoption
from agent_cli.memory.language.triples import Claim
from agent_cli.memory.skills import skills
from agent_cli.messages import Part
from agent_cli.render.layout import cell_width
from tests.cli.test_screens import STYLE
from tests.conftest import HERE, NOON, memory_of
from tests.repl.review.test_review import ENTER, claims, reviewer, walk, wide

__all__ = ["reviewer", "walk", "wide"]

SCREENS = Path(__file__).parent / "screens"
SKILL = skills.compose("deploy-site", "Publish the site: use when it is to go online", "1. build\n2. rsync")


@pytest.fixture
def queue(db, session):
    """A fact after something foreign, one that contradicts, a plain one and a skill."""
    said = log.add_user_message(
        db, session, HERE, [Part("Anna moved her practice to Linz, and the NAS is on .20 now", "typed")], NOON
    )
    read = log.add_user_message(
        db, session, HERE, [Part("What is due?", "typed"), Part("You owe Max 50 euros.", "file", "letter.txt")], NOON
    )
    adoption.add(memory_of(db, lambda: NOON - timedelta(days=40)), claims("I live in Graz"))
    adoption.add(memory_of(db, lambda: NOON - timedelta(days=9)), Claim("The NAS answers at 192.168.1.12", "typed"))
    for claim in (
        Claim("The NAS answers at 192.168.1.20", "model", message=said, quote="the NAS is on .20 now"),
        claims("I live in Linz", "model", message=said, quote="moved to Linz"),
        Claim("My sister Anna has her practice in Linz", "model", inferred=True, message=said),
        Claim("I owe Max 50 euros", "model", message=read, trust="file", quote="You owe Max 50 euros."),
    ):
        adoption.propose(memory_of(db), claim)
    skills.propose(memory_of(db), SKILL, session=session)


@pytest.mark.parametrize(
    "look", ["50", "80", "120", "200", "50 FORCE_COLOR", "80 FORCE_COLOR", "120 FORCE_COLOR", "80 ACCESSIBLE"]
)
def test_what_the_review_looks_like(look, queue, walk, monkeypatch, request):
    width, *options = look.split()
    monkeypatch.setenv("COLUMNS", width)
    for option in options:
        monkeypatch.setenv(option, "1")
    keys = ["n", "o", "b", "y", "s", "y", "q"]
    numbers = ["3", ENTER, "7", ENTER, "2", ENTER, "1", ENTER, "6", ENTER, "1", ENTER]
    shown = walk(*(numbers if "ACCESSIBLE" in options else keys[:-1]), screen_reader="ACCESSIBLE" in options)
    lines = STYLE.sub("", shown).split("\n")
    assert [line for line in lines if cell_width(line) > int(width) and "ACCESSIBLE" not in options] == []
    file = SCREENS / f"{look.replace(' ', '-')}.txt"
    shown = STYLE.sub(lambda code: f"⟨{code[1]}⟩", shown)
    if request.config.getoption("update_docs"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(shown, encoding="utf-8")
    assert shown == file.read_text(encoding="utf-8")
