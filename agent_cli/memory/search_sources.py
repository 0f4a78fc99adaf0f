"""How the rows of each kind are searched and completed, as SQL, and the completions of handles while a person types:
each query reads a bounded number of rows by an index. A kind from elsewhere names in kinds.py the module whose SOURCES
hold its SearchSource."""

import re
from collections.abc import Sequence
from functools import cache
from importlib import import_module

from agent_cli import kinds
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.text import one_line
from agent_cli.values import frozen

_MOST = 50  # completions
_NEWEST = 500  # rows of a kind that are searched by the beginning of their handle, and by their words


@frozen
class SearchSource:
    """Pieces of SQL about one table.

    `passages`: reads rows by a JSON array of ids and gives id, owner, place, session, author, at, utc_offset, text and
    facts, [[statement, predicate], …]. Rows it does not give are not indexed.
    `current`: when a row is found; empty: always. :now is in UTC, :current_session the session that asks, or null.
    `completions`: gives (id, words) of an owner's rows, in `order`; {more} is replaced by a further condition.
    """

    passages: str = ""
    current: str = ""
    completions: str = ""
    order: str = "id desc"


# Facts that end on a date are not indexed with the message, because nothing would update it.
_MESSAGES = """select m.id, s.owner, s.place, m.session_id, m.author, m.at, m.utc_offset, m.text,
                   (select nullif(json_group_array(json_array(statement, predicate)), '[]') from fact
                    where id in (select id from fact where message_id = m.id
                                 union select fact_id from fact_source where message_id = m.id)
                      and +owner = s.owner and +state = 'accepted' and valid_to is null and hidden_at is null
                      and session_id is null)
            from json_each(?) c cross join message m on m.id = c.value join session s on s.id = m.session_id
            where m.finish is not null and m.role in ('user', 'assistant') and m.text <> '' and m.undone_at is null
              and m.model <> 'offline'"""  # the offline model only quotes

_SESSIONS = """select id, coalesce(nullif(title, ''), (select substr(text, 1, 200) from said
                                                       where session_id = s.id and role = 'user' order by id limit 1))
              from session s where owner = :owner and hidden_at is null {more}
                and exists (select 1 from said where session_id = s.id)"""

SOURCES = {
    "message": SearchSource(passages=_MESSAGES),
    "session": SearchSource(completions=_SESSIONS, order="last_at desc, id desc"),
    "note": SearchSource(
        """select n.id, owner, place, session_id, '', at, utc_offset,
                  iif(title = '', '', title || char(10)) || text, null
           from json_each(?) c cross join note n on n.id = c.value""",
        "hidden_at is null",
        """select id, iif(title = '', substr(text, 1, 200), title) from note
           where owner = :owner and hidden_at is null {more}""",
        "changed_at desc, id desc",
    ),
    "task": SearchSource(
        completions="""select id, text from task
                       where owner = :owner and state = 'open' and hidden_at is null {more}"""
    ),
    "fact": SearchSource(
        """select f.id, owner, place, session_id, '', learned_at, utc_offset, statement,
                  iif(predicate = '', null, json_array(json_array('', predicate)))
           from json_each(?) c cross join fact f on f.id = c.value where state = 'accepted'""",
        """hidden_at is null and state = 'accepted' and coalesce(valid_to > :now, true)
           and (session_id is null or session_id = :current_session)""",
        """select id, statement from fact
           where owner = :owner and state = 'accepted' and hidden_at is null {more}""",
    ),
    "summary": SearchSource(
        """select y.id, owner, place, session_id, '', coalesce(last_at, at), utc_offset,
                  iif(details = '', text, text || char(10) || details), null
           from json_each(?) c cross join summary y on y.id = c.value""",
        "hidden_at is null",
    ),
    "skill": SearchSource(
        """select k.id, owner, '', null, '', changed_at, utc_offset, text, null
           from json_each(?) c cross join skill k on k.id = c.value where state = 'accepted'""",
        "hidden_at is null and state = 'accepted'",
        """select id, name || ': ' || description from skill
           where owner = :owner and state = 'accepted' and hidden_at is null {more}""",
    ),
    "section": SearchSource(
        passages="""select d.id, d.owner, o.place, null, '', d.at, d.utc_offset,
                   iif(heading = '', '', heading || char(10)) || d.text, null
            from json_each(?) c cross join section d on d.id = c.value join document f on f.id = d.document_id
            join collection o on o.id = f.collection_id"""
    ),
}


@cache
def source_of(name: str) -> SearchSource:
    """The source of a kind; an empty one where its rows are neither searched nor completed."""
    found: SearchSource = import_module(kinds.BY_NAME[name].source).SOURCES.get(name, SearchSource())
    return found


def handles(db: Database, owner: str, names: Sequence[str], prefix: str) -> list[tuple[str, str]]:
    """(handle, words) of rows of these kinds: by the handle, by its beginning, then by words among the newest."""
    by_handle, by_words = dict[str, str](), dict[str, str]()
    number = re.fullmatch(r"[a-z](\d{1,12})", prefix.lower())
    values = {"owner": owner, "id": int(number[1]) if number else 0}
    for kind in names:
        source = source_of(kind)
        newest = f"{source.completions.format(more='')} order by {source.order} limit {_NEWEST}"
        for id, words in (*db.rows(source.completions.format(more="and id = :id"), values), *db.rows(newest, values)):
            handle = ids.handle(kind, id)
            if handle.startswith(prefix.lower()):
                by_handle[handle] = words or ""
            elif prefix.casefold() in (words or "").casefold():
                by_words[handle] = words or ""
    return [(handle, one_line(words, 60)) for handle, words in [*by_handle.items(), *by_words.items()][:_MOST]]


def periods(db: Database, owner: str, prefix: str) -> list[str]:
    """The keys of periods with a summary and this prefix, the latest first."""
    query = """select period from summary where owner = ?1 and period <> '' and period >= ?2
                 and period < ?2 || char(1114111) order by period desc limit ?3"""
    return db.column(query, (owner, prefix, _MOST))
