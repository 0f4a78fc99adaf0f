"""How the rows of a kind are searched and completed, as SQL given by the folder that owns their table.

Search is below the owners' folders and imports none of them: the row of a kind in kinds.py names the module whose
SOURCES hold its SearchSource, and that is loaded when it is first needed. These modules import nothing else, so that a
search starts without the code of all kinds.
"""

from functools import cache
from importlib import import_module

from agent_cli import kinds
from agent_cli.values import frozen


@frozen
class SearchSource:
    """Pieces of SQL about one table.

    `passages`: reads rows by a JSON array of ids and gives id, owner, place, session, author, at, utc_offset, text,
    facts. Rows it does not give are not indexed. Facts are [[statement, predicate], …].
    `current`: the condition under which a row of the table is found and recalled; empty: always. :now is the time in
    UTC, :within the id of the session in which the question is asked, or null.
    `completions`: gives (id, words) of an owner's rows; {more} is replaced by a further condition.
    `order`: the order in which completions are offered.
    """

    passages: str = ""
    current: str = ""
    completions: str = ""
    order: str = "id desc"


@cache
def source_of(name: str) -> SearchSource:
    """The source of a kind."""
    found: SearchSource = import_module(kinds.BY_NAME[name].source).SOURCES[name]
    return found
