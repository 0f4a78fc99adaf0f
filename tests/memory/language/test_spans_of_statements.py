"""From when until when a statement is true, by its words, in English and in German."""

from datetime import datetime, timedelta, timezone

import pytest

from agent_cli.memory.language import spans
from tests.tables import columns, for_each, listed

NOW = datetime(2026, 11, 20, 18, 30, tzinfo=timezone(timedelta(hours=1)))


def days(statement, **more):
    found = spans.of_statement(statement, NOW, **more)
    return tuple(moment and f"{moment:%Y-%m-%d}" for moment in (found.since, found.until))


@for_each(
    ("statement", "since", "until"),
    columns("""
        I live in Salzburg until December 2026 → - → 2026-12-31 | I moved to Wels on 3 March 2026 → 2026-03-03 → -
        I moved to Wels on March 3rd, 2026 → 2026-03-03 → - | On 2026-03-03 I moved to Wels → 2026-03-03 → -
        I moved to Linz in June 2025 → 2025-06-01 → - | I moved to Linz in June → 2026-06-01 → -
        I moved to Linz in December → 2025-12-01 → - | I moved to Linz last summer → 2026-06-01 → -
        I have been vegetarian since 2020 → 2020-01-01 → - | I have lived in Graz for three years → 2023-11-01 → -
        I use emacs since the end of 2025 → 2025-10-02 → - | My office is closed until March → - → 2027-03-31
        The office was closed until March → - → 2026-03-31
        I will be in Rome from 3 to 10 December 2026 → 2026-12-03 → 2026-12-10
        I lived in Wien from 2015 to 2019 → 2015-01-01 → 2019-12-31 | I'm moving to Linz in January → 2027-01-01 → -
        From January on I work at Siemens → 2027-01-01 → - | I work at Siemens as of 2026-05-01 → 2026-05-01 → -
        Ich wohne bis Ende Dezember 2026 in Salzburg → - → 2026-12-31
        Ich bin am 3. März 2026 nach Wels gezogen → 2026-03-03 → -
        Seit dem 5.3.2026 wohne ich in Wels → 2026-03-05 → - | Ich wohne seit drei Jahren in Graz → 2023-11-01 → -
        Ich ziehe im Jänner nach Linz → 2027-01-01 → - | Ab 1. Februar arbeite ich bei der Post → 2027-02-01 → -
        Von März bis Mai 2026 war ich in Rom → 2026-03-01 → 2026-05-31"""),
)
def test_a_date_says_from_when_or_until_when(statement, since, until):
    assert days(statement) == tuple(None if each == "-" else each for each in (since, until))


@for_each(
    "statement",
    listed("""My birthday is on 3 May | I was born in 1980 | I have an appointment on 24 November 2026
        My flight leaves on 3 December 2026 | Mein Geburtstag ist am 3. Mai | Ich habe am 24. November einen Termin
        I am from Graz | I may move to Linz | I live in Linz from 31 February 2027
        My favourite song is “Since 2020 I live in Rome” | Wait for two weeks"""),
)
def test_other_dates_do_not(statement):
    assert days(statement) == (None, None)


def test_a_month_is_a_beginning_where_the_rule_that_parsed_it_says_so():
    assert days("Anna works at Siemens in June 2026") == (None, None)
    assert days("Anna works at Siemens in June 2026", begins=True) == ("2026-06-01", None)


def test_an_end_is_the_last_moment_of_its_day_in_the_zone_of_the_person():
    found = spans.of_statement("I live in Salzburg until 31 December 2026", NOW)
    assert found.until is not None
    assert found.until.isoformat() == "2026-12-31T23:59:59.999000+01:00"


@pytest.mark.parametrize(
    ("statement", "written", "since", "until"),
    [
        ("I work at Bosch since Monday", "I work at Bosch since 16 November 2026", "2026-11-16", None),
        ("I live in Graz since Friday", "I live in Graz since 13 November 2026", "2026-11-13", None),
        ("I stay in Wels until Monday", "I stay in Wels until 23 November 2026", None, "2026-11-23"),
        ("As of Monday I work at Bosch", "As of 23 November 2026 I work at Bosch", "2026-11-23", None),
        ("From Monday on I work at Bosch", "From 23 November 2026 I work at Bosch", "2026-11-23", None),
        ("Seit Mittwoch wohne ich in Graz", "Seit dem 18. November 2026 wohne ich in Graz", "2026-11-18", None),
        ("Ich bin bis Dienstag in Wels", "Ich bin bis zum 24. November 2026 in Wels", None, "2026-11-24"),
        ("Ab Montag arbeite ich bei Bosch", "Ab dem 23. November 2026 arbeite ich bei Bosch", "2026-11-23", None),
        ("I work at Bosch since 3/4/2026", "I work at Bosch since 3 April 2026", "2026-04-03", None),
        ("I work at Bosch since 3/14/2026", "I work at Bosch since 14 March 2026", "2026-03-14", None),
        ("Seit 3/4/2026 wohne ich in Graz", "Seit 3. April 2026 wohne ich in Graz", "2026-04-03", None),
        ("Ich wohne seit 3.4.26 in Graz", "Ich wohne seit 3.4.26 in Graz", "2026-04-03", None),
        ("The shop is open Monday until Friday", "The shop is open Monday until Friday", None, None),
        ("I work from Monday to Friday", "I work from Monday to Friday", None, None),
        ("Offen von Montag bis Freitag", "Offen von Montag bis Freitag", None, None),
        ("Since 31/31/2026 I wait", "Since 31/31/2026 I wait", None, None),
    ],
)
def test_a_weekday_or_a_date_with_slashes_is_written_out(monkeypatch, statement, written, since, until):
    monkeypatch.setenv("LC_ALL", "de_AT.UTF-8")
    assert spans.resolve(statement, NOW) == written
    assert days(written) == (since, until)


def test_with_slashes_the_month_comes_first_where_the_locale_says_so(monkeypatch):
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    assert spans.resolve("I work at Bosch since 3/4/2026", NOW) == "I work at Bosch since 4 March 2026"
