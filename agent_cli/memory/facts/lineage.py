"""Erasure of facts: a fact is erased with the last message it was learned from, or with the session it holds in.

A fact with another source stays and loses its quote, in every version.
"""

from agent_cli import clock
from agent_cli.memory import lineage
from agent_cli.memory.facts import facts
from agent_cli.memory.language import keywords
from agent_cli.memory.lineage import Copy, Owner, Table, Walk
from agent_cli.memory.search import index
from agent_cli.store.db import Database

_TABLES = (
    Table(
        "fact",
        text_columns="place statement subject predicate object quote source",
        other_columns="uid owner state operation origin trust valid_from valid_to learned_at decided_at hidden_at "
        "in_profile",
        time="learned_at",
        made_from={"session": "session_id {ids}"},
        letter="f",
        counts={("facts", "fact"): "true"},
        line="statement",
        mentions=f"""{lineage.mentions_topic("statement", "subject", "object", "quote")}
                     or exists (select 1 from fact_version
                                where fact_id = fact.id and {lineage.mentions_topic("was")})""",
        stated_text=lineage.joined("statement", "object", "iif(message_id is null, quote, '')"),
        personal_texts=(
            "statement, quote, object",
            "select quote from fact_source where fact_id {ids}",
        ),
        statements=("statement",),
        remembered=("statement",),
    ),
    Table("fact_source", text_columns="quote", other_columns="at"),
    Table(
        "fact_version",
        text_columns="was",
        other_columns="change batch actor at",
        made_from={"fact": "fact_id {ids}"},
        letter="f",
        handle="fact_id",
        stated_text="coalesce(iif(was ->> 'message_id' is null, was, json_remove(was, '$.quote')), '')",
        personal_texts=("was ->> 'statement', was ->> 'quote', was ->> 'object'",),
        statements=("was ->> 'statement'",),
        remembered=("was ->> 'statement'",),
    ),
    Table("fact_test", text_columns="question mention", other_columns="uid owner at"),
)


def _derive(db: Database, walk: Walk) -> None:
    other, only = _learned_from(db, walk)
    walk.add("fact", only)
    walk.partial["fact"] = dict.fromkeys(sorted(other - {*walk["fact"]}))


def _erase(db: Database, walk: Walk, time: clock.Clock) -> None:
    """Erase facts; messages that stay are indexed again without the facts that were learned from them."""
    learned = lineage.column(db, "select message_id from fact where message_id is not null and id {ids}", walk["fact"])
    learned += lineage.column(db, "select message_id from fact_source where fact_id {ids}", walk["fact"])
    facts.drop_source(db, walk["message"])
    cut = walk.partial["message"]
    facts.drop_source(db, [*cut], only={*walk.staying("fact"), *walk["fact"]})
    facts.drop_quotes(db, [*walk["message"], *cut])
    index.reindex(db, "m", sorted({*learned} - {*walk["message"]}))
    facts.erase(db, walk["fact"])


def _learned_from(db: Database, walk: Walk) -> tuple[set[int], set[int]]:
    """The facts learned from erased messages and sentences: those with another source, and those without."""
    found = lineage.rows(
        db,
        """with lost as materialized (select id from message where id {ids}),
           learned as (select id from fact where message_id in (select id from lost)
                       union select fact_id from fact_source where message_id in (select id from lost))
           select f.id, f.message_id, f.quote from learned l join fact f on f.id = l.id
           union all select s.fact_id, s.message_id, s.quote from learned l join fact_source s on s.fact_id = l.id""",
        walk.losing_words("message"),
    )
    erased, cut = {*walk["message"]}, walk.partial["message"]
    lost = {
        (fact, message)
        for fact, message, quote in found
        if message in erased or (message in cut and keywords.fold(quote) not in keywords.fold(cut[message].left))
    }
    other = {fact for fact, message, _ in found if (fact, message) not in lost}
    only = {fact for fact, _ in lost} - other
    return other & {fact for fact, _ in lost}, only


_TESTS = Copy("tests", "test", "fact_test", lineage.joined("question", "mention"), facts.erase_tests)
FACTS = Owner(_TABLES, _erase, _derive, (_TESTS,))
