"""Words for time in a question, as a range of days."""

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as some

from agent_cli.memory import when

NOW = datetime(2026, 5, 13, 15, 30, tzinfo=timezone(timedelta(hours=2)))  # a Wednesday


def told(question, now=NOW):
    """The range as days: from, before."""
    found = when.span(question, now)
    return None if found is None else tuple(f"{each:%Y-%m-%d}" if each else None for each in (found.since, found.until))


@pytest.mark.parametrize(
    ("question", "since", "until"),
    [
        ("What did I do yesterday?", "2026-05-12", "2026-05-13"),
        ("Was habe ich gestern gemacht?", "2026-05-12", "2026-05-13"),
        ("Where was I last night?", "2026-05-12", "2026-05-13"),
        ("And the day before yesterday?", "2026-05-11", "2026-05-12"),
        ("Und vorgestern?", "2026-05-11", "2026-05-12"),
        ("What is on today?", "2026-05-13", "2026-05-14"),
        ("Was ist heute?", "2026-05-13", "2026-05-14"),
        ("What did we plan last week?", "2026-05-04", "2026-05-11"),
        ("Was war letzte Woche?", "2026-05-04", "2026-05-11"),
        ("Was war in der vergangenen Woche?", "2026-05-04", "2026-05-11"),
        ("this week", "2026-05-11", "2026-05-18"),
        ("diese Woche", "2026-05-11", "2026-05-18"),
        ("last month", "2026-04-01", "2026-05-01"),
        ("letzten Monat", "2026-04-01", "2026-05-01"),
        ("this month", "2026-05-01", "2026-06-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("letztes Jahr", "2025-01-01", "2026-01-01"),
        ("dieses Jahr", "2026-01-01", "2027-01-01"),
        ("in March", "2026-03-01", "2026-04-01"),
        ("im März", "2026-03-01", "2026-04-01"),
        ("in May", "2026-05-01", "2026-06-01"),
        ("in December", "2025-12-01", "2026-01-01"),
        ("im Dezember 2023", "2023-12-01", "2024-01-01"),
        ("March 2024", "2024-03-01", "2024-04-01"),
        ("in 2023", "2023-01-01", "2024-01-01"),
        ("im Jahr 2023", "2023-01-01", "2024-01-01"),
        ("on 3 May", "2026-05-03", "2026-05-04"),
        ("May 3rd, 2025", "2025-05-03", "2025-05-04"),
        ("the 3rd of May 2025", "2025-05-03", "2025-05-04"),
        ("am 3. Mai 2025", "2025-05-03", "2025-05-04"),
        ("on 20 May", "2025-05-20", "2025-05-21"),
        ("2025-02-28", "2025-02-28", "2025-03-01"),
        ("on Monday", "2026-05-11", "2026-05-12"),
        ("last Wednesday", "2026-05-06", "2026-05-07"),
        ("am Freitag", "2026-05-08", "2026-05-09"),
        ("am Sonnabend", "2026-05-09", "2026-05-10"),
        ("before 3 May", None, "2026-05-03"),
        ("vor dem 3. Mai", None, "2026-05-03"),
        ("bis zum 3. Mai 2025", None, "2025-05-03"),
        ("since 2025-02-28", "2025-02-28", None),
        ("seit dem 3. Mai", "2026-05-03", None),
        ("three days ago", "2026-05-10", "2026-05-11"),
        ("vor drei Tagen", "2026-05-10", "2026-05-11"),
        ("2 weeks ago", "2026-04-28", "2026-05-01"),
        ("vor zwei Wochen", "2026-04-28", "2026-05-01"),
        ("a year ago", "2025-02-11", "2025-08-13"),
    ],
)
def test_a_question_names_a_time(question, since, until):
    assert told(question) == (since, until)
    assert told(f"Tell me, {question.upper()} or so") == (since, until)


@pytest.mark.parametrize(
    "question",
    ["May I have your attention?", "May my sister come?", "Mai Thai", "The sun is out", "Who will march?",
     "August is a name",
     "31 February", "on 31 February", "am 31. Februar", "before 31 February", "since 2025-02-31", "What about Mark?",
     "",
     "the second one", "in 999", "last but not least", "im Märzen", "yesterdays", "99999 years ago",
     "in December 9999", "31 December 9999", "9999-12-31", "0000-01-01", "auguſt 3",
     "last ſunday", "last frıday", "sıx days ago"],
)  # fmt: skip
def test_a_question_names_none(question):
    assert told(question) is None


def test_the_words_that_said_so_are_told():
    assert when.span("What did I do last week, and why?", NOW).words == "last week"


def test_a_day_begins_at_midnight_where_the_person_is():
    found = when.span("yesterday", NOW)
    assert (found.since, found.until) == (
        datetime(2026, 5, 12, tzinfo=NOW.tzinfo),
        datetime(2026, 5, 13, tzinfo=NOW.tzinfo),
    )


_TOLD = (
    "last", "this", "next", "in", "on", "before", "since", "vor", "seit", "may", "mai", "31", "february", "0", "9999",
    "999", "years", "days", "tagen", "ago", "of", "the", "29", "2025-02-30", "december",
)  # fmt: skip


@given(some.text() | some.lists(some.sampled_from(_TOLD)).map(" ".join))
def test_any_text_is_safe(question):
    found = when.span(question, NOW)
    assert found is None or found.since is None or found.until is None or found.since < found.until
