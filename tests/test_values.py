import copy
import pickle
from dataclasses import asdict, dataclass, field, fields, replace

import pytest

from agent_cli.values import frozen
from tests.tables import for_each


def classes(made):
    """The same class by each decorator."""

    @made
    class Cat:
        name: str
        lives: int = 9
        toys: tuple[str, ...] = ()
        seen: list[str] = field(default_factory=list)
        at: str = field(default="", compare=False, repr=False)
        owner: str = field(default="me", kw_only=True)

    return Cat


Ours, Theirs = classes(frozen), classes(dataclass(frozen=True))
GIVEN = [
    (("Mia",), {}),
    (("Mia", 7, ("ball",), ["here"], "now"), {"owner": "you"}),
    ((), {"name": "Mia", "at": "then"}),
]


@pytest.mark.parametrize(("given", "named"), GIVEN)
def test_a_value_holds_and_shows_what_a_frozen_dataclass_does(given, named):
    ours, theirs = Ours(*given, **named), Theirs(*given, **named)
    assert (vars(ours), repr(ours), asdict(ours)) == (vars(theirs), repr(theirs), asdict(theirs))
    assert Ours.__match_args__ == Theirs.__match_args__
    assert [each.name for each in fields(Ours)] == [each.name for each in fields(Theirs)]
    assert vars(replace(ours, lives=1)) == vars(replace(theirs, lives=1))


@for_each(
    ("given", "named"), [((), {}), (("a", 1, (), [], "", "b"), {}), (("a",), {"name": "b"}), (("a",), {"tail": 1})]
)
def test_what_is_missing_or_too_much_is_refused_in_the_same_words(given, named):
    with pytest.raises(TypeError) as theirs:
        Theirs(*given, **named)
    with pytest.raises(TypeError) as ours:
        Ours(*given, **named)
    assert str(ours.value).rpartition(".")[2] == str(theirs.value).rpartition(".")[2]


def test_values_are_compared_by_what_they_hold_and_by_their_class():
    assert Ours("Mia", at="now") == Ours("Mia", at="then")
    assert Ours("Mia") != Ours("Tom")
    assert Ours("Mia") != Theirs("Mia")
    assert Ours("Mia").seen is not Ours("Mia").seen
    assert Ours("Mia") == copy.deepcopy(Ours("Mia"))


def test_equal_values_have_one_hash():
    Pair = frozen(type("Pair", (), {"__annotations__": {"left": int, "right": int}}))
    assert len({Pair(1, 2), Pair(1, 2), Pair(2, 1)}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(Ours("Mia"))


@frozen
class Animal:
    name: str


@frozen
class Dog(Animal):
    tricks: int = 0

    def __repr__(self):
        return f"<{self.name}>"


class Puppy(Animal):
    """Has no fields of its own."""


def test_a_value_may_inherit_from_another():
    assert (Dog("Rex", 2).tricks, repr(Dog("Rex")), Puppy("Bo").name, Animal("Rex").name) == (2, "<Rex>", "Bo", "Rex")
    assert Dog("Rex") != Animal("Rex")
    assert pickle.loads(pickle.dumps(Dog("Rex", 2))) == Dog("Rex", 2)


def test_a_value_matches_a_pattern():
    match Dog("Rex", 3):
        case Dog(name, tricks=3):
            assert name == "Rex"


def test_a_thread_that_creates_the_first_value_beside_another_gets_it_too():
    class_ = classes(frozen)
    first = class_.__init__  # as a thread holds it that was about to call it
    class_("Mia")
    other = class_.__new__(class_)
    first(other, "Tom")
    assert other == class_("Tom")
