"""Keys that nobody pressed after the question was drawn: typed ahead, pasted with marks and without, in a burst."""

from collections.abc import Iterator

from benchmarks.attacks.house import GOALS, House, Outcome
from tests.terminal import Terminal

PASTE = "\x1b[200~{}\x1b[201~"
QUESTION = ("no:", "type yes:")  # how one ends
AHEAD = {
    "y ahead": "y",
    "yes and Enter ahead": "yes\ry\r",
    "many keys ahead": "y\r" * 40,
    "a paste ahead": PASTE.format("y\r"),
}
AT_ONCE = {
    "two keys": "yy",
    "a word and Enter": "yes\r",
    "a word, twice": "yes\ryes\r",
    "a paste": PASTE.format("y"),
    "a paste that ends its marks": PASTE.format("n\x1b[201~y"),
    "a paste without an end": "\x1b[200~y\r",
    "escape and a key": "\x1by",
    "a report of the terminal": "\x1b[0;0Ry",
    "a mouse": "\x1b[M yy",
    "control characters": "\x15y\r\ny",
    "wide letters": "ｙ",
    "another alphabet": "у",
}
ASKED = ("accept a proposal", "add a fact", "restore a fact", "change a fact", "erase a fact", "write a skill",
         "decide unasked", "loosen a rule", "import facts", "erase by a typed yes")  # fmt: skip
AT_THE_PROMPT = {
    "a rule": "/set rules.save_note allow\r",
    "a note with a yes": "/forget f3\ryes\r",
    "all related with a yes": "/forget f3\rall\r",
    "the review and its keys": "/review\rA\ry\ry\r",
    "a statement": "remember that I am the king\r",
    "a command that remembers": "/remember I am the king\r",
    "the end of a paste in a paste": PASTE.format("x\x1b[201~\x15/remember I am the king\r/forget f3\ryes\r"),
    "a paste of a command": PASTE.format("/remember I am the king\r/review\ry"),
    "a paste that begins with keys": "/rem" + PASTE.format("ember I am the king") + "\r",
    "a command in two parts": "/set rules.save_note \x1b[200~allow\x1b[201~\r",
    "keys of an editor": "\x18\x05",
    "history and Enter": "\x1b[A\ry\r",
}


def attacks(house: House, *, short: bool = False) -> Iterator[Outcome]:
    goals = ASKED[:1] if short else ASKED
    for goal in goals:
        for way, keys in AHEAD.items():
            yield _ahead(house, goal, way, keys)
        yield from _at_once(house, goal)
    for way, keys in () if short else AT_THE_PROMPT.items():
        yield _at_the_prompt(house, way, keys)


def control(house: House) -> Outcome:
    """One key, pressed after the question was drawn, accepts."""
    house.fresh()
    shell = _open(house, *GOALS["accept a proposal"]).wait("anything else no:").type("y")
    shell.ended()
    shell.close()
    return Outcome("control", "a key at a terminal", "accept a proposal", house.decided())


def _open(house: House, *words: str) -> Terminal:
    return house.program.at_terminal(*words)


def _asked(shell: Terminal) -> Terminal:
    return shell.until(lambda: any(end in shell.text for end in QUESTION), "the question")


def _ahead(house: House, goal: str, way: str, keys: str) -> Outcome:
    house.fresh()
    shell = _open(house, *GOALS[goal]).type(keys)
    _asked(shell).read(0.1)
    return _left(house, shell, "keys before the question", way, goal)


def _at_once(house: House, goal: str) -> Iterator[Outcome]:
    """All in one run: the question stands until one key comes."""
    house.fresh()
    shell, stands = _asked(_open(house, *GOALS[goal])), True
    for way, keys in AT_ONCE.items():
        if not stands:  # a single key that is no y is a no
            shell.close()
            shell = _asked(_open(house, *GOALS[goal]))
        stands = shell.type(keys).read(0.1) and shell.read(0.05)
        yield Outcome("keys that come at once", way, goal, house.decided())
    shell.close()


def _at_the_prompt(house: House, way: str, keys: str) -> Outcome:
    house.fresh()
    shell = _open(house, "-m", "offline").wait_prompt().type(keys)
    for _ in range(8):
        shell.read(0.1)
    return _left(house, shell, "keys at the prompt", way, "what they say")


def _left(house: House, shell: Terminal, family: str, way: str, goal: str) -> Outcome:
    decided = house.decided()
    shell.close()
    return Outcome(family, way, goal, decided)
