"""All facts as one Markdown file to edit: a section for each subject, a line for each fact, beginning with its handle.

The changes are applied in one transaction and as one batch, so that one `undo` reverts them. An ambiguous file is
refused whole: a typing error in a handle must not hide a fact and add another.
"""

import re
from collections.abc import Sequence, Set

from agent_cli import clock, text
from agent_cli.errors import UsageError
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.facts.adoption import Adopted
from agent_cli.memory.facts.facts import Fact
from agent_cli.memory.language.triples import SINGLE_VALUED
from agent_cli.memory.scope import Scope
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

_INTRO = """<!-- What is known about you: a line for each fact, with its handle.
Change the words of a line and the fact is changed; delete a line and it is hidden; write a line "- words" without a
handle and that is a new fact, true where the heading above it says. Leave the handles as they are.
`agent facts undo` takes all of it back. -->
"""
_YOU, _OTHER = "You", "Other"
_ITEM = re.compile(r"[-*+]\s+(?:(f\d{1,18}):(?=\s|$))?\s*(.*)", re.IGNORECASE)
_LIKE_HANDLE = re.compile(r"f\s*\d+\b|[a-z]{0,2}\d+\s*:(?=\s|$)|f[\dol]*:", re.IGNORECASE)

FactScope = tuple[str, int | None]
"""Where a fact holds: a place (empty: everywhere) and a session (None: every one)."""


@frozen
class Changes:
    edited: tuple[tuple[Fact, str], ...]
    hidden: tuple[Fact, ...]
    added: tuple[tuple[str, FactScope], ...]

    @property
    def number(self) -> int:
        return len(self.edited) + len(self.hidden) + len(self.added)

    def __bool__(self) -> bool:
        return self.number > 0


@frozen
class Applied:
    edited: tuple[Fact, ...]
    hidden: tuple[Fact, ...]
    added: tuple[Adopted, ...]


def render(found: Sequence[Fact]) -> str:
    """The text of the file. Facts that hold in one place or session alone have a heading of their own."""
    sections: dict[str, list[Fact]] = {}
    for each in sorted(
        found, key=lambda each: (_scope_of(each) != ("", None), each.place, each.session_id or 0, *_sort_key(each))
    ):
        sections.setdefault(_heading(each), []).append(each)
    if _YOU not in sections:
        sections = {_YOU: [], **sections}
    blocks = ["\n".join([f"## {name}", "", *map(_line, rows)]) for name, rows in sections.items()]
    return "\n\n".join([_INTRO + "\n# Facts", *blocks]) + "\n"


def read(opened: Sequence[Fact], edited: str) -> Changes:
    """The changes that the person made. Raises UsageError where a line is ambiguous."""
    if not edited.strip():
        raise UsageError("the file came back empty, and nothing was changed; delete lines to hide their facts")
    known = {each.handle: each for each in opened}
    scopes = {_heading(each): _scope_of(each) for each in opened}
    seen: dict[str, str] = {}
    added: list[tuple[str, FactScope]] = []
    section_scope: FactScope = ("", None)
    for number, line in _items(edited):
        if line.startswith("#"):
            section_scope = scopes.get(line.lstrip("#").strip(), ("", None))
            continue
        handle, words = _parse_item(number, line)
        if not handle:
            added.append((words, section_scope))
            continue
        if handle not in known:
            raise _line_error(number, f"{handle} is not a fact of this file; a new line has no handle")
        if handle in seen:
            raise _line_error(number, f"{handle} is there twice")
        seen[handle] = words
    return Changes(
        tuple((known[handle], words) for handle, words in seen.items() if words != _displayed(known[handle])),
        tuple(each for handle, each in known.items() if handle not in seen),
        tuple(added),
    )


def apply(
    db: Database, scope: Scope, changes: Changes, time: clock.Clock, single_valued: Set[str] = SINGLE_VALUED
) -> Applied:
    """Write all changes. Raises UsageError, with nothing written, when a fact was changed meanwhile."""
    batch = ids.new(time())
    with db.write():
        for each in (*(fact for fact, _ in changes.edited), *changes.hidden):
            if facts.many(db, [each.id], each.owner) != [each]:
                raise UsageError(f"{each.handle} was changed elsewhere while you wrote; nothing was changed")
        hidden = [adoption.hide(db, each, time, batch=batch) for each in changes.hidden]
        edited = [
            adoption.edit(db, each, words, time, single_valued=single_valued, batch=batch)
            for each, words in changes.edited
        ]
        added = []
        for words, (place, session) in changes.added:
            claim = adoption.claim(words, "typed", place=place, session=session)
            added.append(adoption.add(db, scope, claim, time, single_valued, batch=batch))
    return Applied(tuple(edited), tuple(hidden), tuple(added))


def _items(edited: str) -> list[tuple[int, str]]:
    """(line number, text) of headings and items; an indented line continues the item above it."""
    found: list[tuple[int, str]] = []
    rest = edited
    if edited.lstrip().startswith("<!--") and "-->" in edited:
        intro, _, rest = edited.partition("-->")
        rest = "\n" * intro.count("\n") + rest
    for number, line in enumerate(rest.split("\n"), 1):
        if not line.strip():
            continue
        if line[0].isspace() and found and not found[-1][1].startswith("#") and not _ITEM.match(line.strip()):
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
        else:
            found.append((number, line.strip()))
    return found


def _parse_item(number: int, line: str) -> tuple[str, str]:
    """The handle of an item, empty for a new one, and its words."""
    match = _ITEM.fullmatch(line)
    if match is None:
        raise _line_error(number, 'a fact begins with "- "')
    handle, words = (match[1] or "").lower(), " ".join(match[2].split())
    if not handle and _LIKE_HANDLE.match(words):
        raise _line_error(
            number, f"“{text.one_line(words, 20)}” looks like a broken handle; write it as in “- f4: words”"
        )
    if not words:
        raise _line_error(number, f"{handle or 'the fact'} has no words; delete the whole line to hide a fact")
    return handle, words


def _line_error(number: int, why: str) -> UsageError:
    return UsageError(f"line {number}: {why}; nothing was changed")


def _line(fact: Fact) -> str:
    return f"- {fact.handle}: {_displayed(fact)}"


def _displayed(fact: Fact) -> str:
    return " ".join(text.clean(fact.statement).split())


def _scope_of(fact: Fact) -> FactScope:
    return fact.place, fact.session_id


def _heading(fact: Fact) -> str:
    name = {"person": _YOU, "": _OTHER}.get(fact.subject) or text.one_line(fact.subject)
    if fact.session_id:
        return f"{name}, in session {ids.handle('session', fact.session_id)} alone"
    return f"{name}, in {text.one_line(fact.place, 200)}" if fact.place else name


def _sort_key(fact: Fact) -> tuple[bool, bool, str, int]:
    """The person's facts first, those without a subject last."""
    return fact.subject != "person", not fact.subject, fact.subject.casefold(), fact.id
