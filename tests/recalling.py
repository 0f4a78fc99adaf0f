"""A small memory to search, for the tests of recall."""

from datetime import datetime

from agent_cli.llm import embedded
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.planner import notes
from agent_cli.memory.scope import PERSON, Scope
from agent_cli.memory.search import index, recall, vectors, word_tables
from agent_cli.memory.search.candidates import Filter
from agent_cli.messages import Message, Part
from agent_cli.store import ids
from tests.conftest import HERE, NOON


def say(db, session, words, at=NOON, scope=HERE):
    """What the person says; gives its handle."""
    return f"m{log.add_user_message(db, session, scope, [Part(words, 'typed')], at)}"


def take_in(db, session, words, author="", at=NOON, external_id=None, scope=HERE):
    """What somebody said elsewhere; gives its handle."""
    message = log.ImportedMessage(external_id or ids.new(at), at, "user", words, author)
    with db.write():
        log.append_imported(db, session, scope, [message])
    return f"m{db.value('select max(id) from message')}"


def reply(db, session, words, at=NOON, finish="stop", scope=HERE):
    id = log.open_reply(db, session, scope, "m", at)
    log.close_reply(db, id, Message("assistant", words), finish, log.Usage("m"), at)
    return f"m{id}"


def note(db, words, at=NOON, scope=HERE, title=""):
    return notes.add(db, scope, words, lambda: at, title=title).handle


def fact(db, statement, state="accepted", message=None, hidden=None, owner=PERSON):
    """A fact as it will stand when it has been decided; gives its number."""
    moment = "2026-01-02T12:00:00.000Z"
    row = {"uid": ids.new(NOON), "owner": owner, "statement": statement, "state": state, "origin": "typed"}
    row |= {"message_id": message, "learned_at": moment, "utc_offset": 0, "hidden_at": hidden}
    return db.insert("fact", row)


def session_of(db, scope=HERE, at=NOON):
    return sessions.start(db, scope, at)


def catch_up(db):
    while index.refresh(db):
        pass


def finish(db):
    """Index all that is to be indexed, the rest of long texts and trigrams too."""
    for _ in index.refresh_steps(db):
        pass


def matches(db, word, which="words"):
    """The handles that an index itself has for a word, with None for a passage that is gone."""
    name = word_tables.table(db, which)
    has = f"select rowid from {name} where {name} match ?"
    rows = db.rows(f"select p.kind || p.row from ({has}) w left join passage p on p.id = w.rowid order by 1", (word,))
    return list(dict.fromkeys(handle for (handle,) in rows))


def check_indexes(db):
    """Fail unless both indexes hold what the passages say, no more and no less."""
    for which in ("words", "trigrams"):
        name = word_tables.table(db, which)
        db.execute(f"insert into {name} ({name}, rank) values ('integrity-check', 1)")


def embed(db, floor=None):
    """The index up to date, and a vector of each passage."""
    catch_up(db)
    made = vectors.create(db, EMBEDDED.identity(), EMBEDDED.dimension(), floor or EMBEDDED.similarity_floor)
    fill(db, made)
    return made


def fill(db, made, embed_documents=None):
    while vectors.fill(db, made, embed_documents or EMBEDDED.embed_documents):
        pass


def find(db, query, limit=10, now=NOON, meaning=None, owner=PERSON, **filters):
    """All that is found, with the index up to date."""
    catch_up(db)
    return recall.find(db, query, Filter(owner, **filters), now, limit, meaning)


def handles(db, query, **more):
    """The handles of what is found, best first."""
    return [hit.handle for hit in find(db, query, **more).hits]


def day(told):
    return datetime.fromisoformat(f"{told}T12:00:00+00:00")


ELSEWHERE = Scope(PERSON, "/home/other")
STRANGER = Scope("caller", HERE.place)
EMBEDDED = embedded.EmbeddedEmbedder()  # loaded once
