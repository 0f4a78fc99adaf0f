"""From when until when a statement is true, by its words, in English and in German."""

from datetime import datetime, timedelta, timezone

import pytest

from agent_cli.memory.dates import validity

NOW = datetime(2026, 11, 20, 18, 30, tzinfo=timezone(timedelta(hours=1)))


def days(statement, **more):
    found = validity.find(statement, NOW, **more)
    return tuple(moment and f"{moment:%Y-%m-%d}" for moment in (found.since, found.until))


@pytest.mark.parametrize(
    ("statement", "since", "until"),
    [
        ("I live in Salzburg until December 2026", None, "2026-12-31"),
        ("I moved to Wels on 3 March 2026", "2026-03-03", None),
        ("I moved to Wels on March 3rd, 2026", "2026-03-03", None),
        ("On 2026-03-03 I moved to Wels", "2026-03-03", None),
        ("I moved to Linz in June 2025", "2025-06-01", None),
        ("I moved to Linz in June", "2026-06-01", None),
        ("I moved to Linz in December", "2025-12-01", None),
        ("I moved to Linz last summer", "2026-06-01", None),
        ("I have been vegetarian since 2020", "2020-01-01", None),
        ("I have lived in Graz for three years", "2023-11-01", None),
        ("I use emacs since the end of 2025", "2025-10-02", None),
        ("My office is closed until March", None, "2027-03-31"),
        ("The office was closed until March", None, "2026-03-31"),
        ("I will be in Rome from 3 to 10 December 2026", "2026-12-03", "2026-12-10"),
        ("I lived in Wien from 2015 to 2019", "2015-01-01", "2019-12-31"),
        ("I'm moving to Linz in January", "2027-01-01", None),
        ("From January on I work at Siemens", "2027-01-01", None),
        ("I work at Siemens as of 2026-05-01", "2026-05-01", None),
        ("Ich wohne bis Ende Dezember 2026 in Salzburg", None, "2026-12-31"),
        ("Ich bin am 3. März 2026 nach Wels gezogen", "2026-03-03", None),
        ("Seit dem 5.3.2026 wohne ich in Wels", "2026-03-05", None),
        ("Ich wohne seit drei Jahren in Graz", "2023-11-01", None),
        ("Ich ziehe im Jänner nach Linz", "2027-01-01", None),
        ("Ab 1. Februar arbeite ich bei der Post", "2027-02-01", None),
        ("Von März bis Mai 2026 war ich in Rom", "2026-03-01", "2026-05-31"),
    ],
)
def test_a_date_says_from_when_or_until_when(statement, since, until):
    assert days(statement) == (since, until)


@pytest.mark.parametrize(
    "statement",
    [
        "My birthday is on 3 May",
        "I was born in 1980",
        "I have an appointment on 24 November 2026",
        "My flight leaves on 3 December 2026",
        "Mein Geburtstag ist am 3. Mai",
        "Ich habe am 24. November einen Termin",
        "I am from Graz",
        "I may move to Linz",
        "I live in Linz from 31 February 2027",
        "My favourite song is “Since 2020 I live in Rome”",
        "Wait for two weeks",
    ],
)
def test_other_dates_do_not(statement):
    assert days(statement) == (None, None)


def test_a_month_is_a_beginning_where_the_rule_that_parsed_it_says_so():
    assert days("Anna works at Siemens in June 2026") == (None, None)
    assert days("Anna works at Siemens in June 2026", begins=True) == ("2026-06-01", None)


def test_an_end_is_the_last_moment_of_its_day_in_the_zone_of_the_person():
    found = validity.find("I live in Salzburg until 31 December 2026", NOW)
    assert found.until is not None
    assert found.until.isoformat() == "2026-12-31T23:59:59.999000+01:00"
