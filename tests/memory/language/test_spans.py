"""Words for time: the days of a question, relative dates written out, and from when until when a statement is true."""

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as some

from agent_cli.memory.facts import adoption
from agent_cli.memory.language import spans
from tests.conftest import memory_of
from tests.tables import columns, for_each, listed

NOW = datetime(2026, 5, 13, 15, 30, tzinfo=timezone(timedelta(hours=2)))  # a Wednesday


def told(question, now=NOW):
    """The range as days: from, before."""
    found = spans.of_question(question, now)
    return None if found is None else tuple(f"{each:%Y-%m-%d}" if each else None for each in (found.since, found.until))


@for_each(
    ("question", "since", "until"),
    columns("""
        What did I do yesterday? → 2026-05-12 → 2026-05-13 | Was habe ich gestern gemacht? → 2026-05-12 → 2026-05-13
        Where was I last night? → 2026-05-12 → 2026-05-13 | And the day before yesterday? → 2026-05-11 → 2026-05-12
        Und vorgestern? → 2026-05-11 → 2026-05-12 | What is on today? → 2026-05-13 → 2026-05-14
        Was ist heute? → 2026-05-13 → 2026-05-14 | What did we plan last week? → 2026-05-04 → 2026-05-11
        Was war letzte Woche? → 2026-05-04 → 2026-05-11 | Was war in der vergangenen Woche? → 2026-05-04 → 2026-05-11
        this week → 2026-05-11 → 2026-05-18 | diese Woche → 2026-05-11 → 2026-05-18
        last month → 2026-04-01 → 2026-05-01 | letzten Monat → 2026-04-01 → 2026-05-01
        this month → 2026-05-01 → 2026-06-01 | last year → 2025-01-01 → 2026-01-01
        letztes Jahr → 2025-01-01 → 2026-01-01 | dieses Jahr → 2026-01-01 → 2027-01-01
        in March → 2026-03-01 → 2026-04-01 | im März → 2026-03-01 → 2026-04-01 | in May → 2026-05-01 → 2026-06-01
        in December → 2025-12-01 → 2026-01-01 | im Dezember 2023 → 2023-12-01 → 2024-01-01
        March 2024 → 2024-03-01 → 2024-04-01 | in 2023 → 2023-01-01 → 2024-01-01
        im Jahr 2023 → 2023-01-01 → 2024-01-01 | on 3 May → 2026-05-03 → 2026-05-04
        May 3rd, 2025 → 2025-05-03 → 2025-05-04 | the 3rd of May 2025 → 2025-05-03 → 2025-05-04
        am 3. Mai 2025 → 2025-05-03 → 2025-05-04 | on 20 May → 2025-05-20 → 2025-05-21
        2025-02-28 → 2025-02-28 → 2025-03-01 | on Monday → 2026-05-11 → 2026-05-12
        last Wednesday → 2026-05-06 → 2026-05-07 | am Freitag → 2026-05-08 → 2026-05-09
        am Sonnabend → 2026-05-09 → 2026-05-10 | before 3 May → - → 2026-05-03 | vor dem 3. Mai → - → 2026-05-03
        bis zum 3. Mai 2025 → - → 2025-05-03 | since 2025-02-28 → 2025-02-28 → - | seit dem 3. Mai → 2026-05-03 → -
        three days ago → 2026-05-10 → 2026-05-11 | vor drei Tagen → 2026-05-10 → 2026-05-11
        2 weeks ago → 2026-04-28 → 2026-05-01 | vor zwei Wochen → 2026-04-28 → 2026-05-01
        a year ago → 2025-02-11 → 2025-08-13"""),
)
def test_a_question_names_a_time(question, since, until):
    days = tuple(None if each == "-" else each for each in (since, until))
    assert (told(question), told(f"Tell me, {question.upper()} or so")) == (days, days)


@for_each(
    "question",
    [
        "",
        *listed("""May I have your attention? | May my sister come? | Mai Thai | The sun is out | Who will march?
        August is a name | 31 February | on 31 February | am 31. Februar | before 31 February | since 2025-02-31
        What about Mark? | the second one | in 999 | last but not least | im Märzen | yesterdays | 99999 years ago
        in December 9999 | 31 December 9999 | 9999-12-31 | 0000-01-01 | auguſt 3 | last ſunday | last frıday
        sıx days ago"""),
    ],
)
def test_a_question_names_none(question):
    assert told(question) is None


def test_the_words_that_said_so_are_told():
    assert spans.of_question("What did I do last week, and why?", NOW).words == "last week"


def test_a_day_begins_at_midnight_where_the_person_is():
    found = spans.of_question("yesterday", NOW)
    assert (found.since, found.until) == (
        datetime(2026, 5, 12, tzinfo=NOW.tzinfo),
        datetime(2026, 5, 13, tzinfo=NOW.tzinfo),
    )


_TOLD = listed("""last | this | next | in | on | before | since | vor | seit | may | mai | 31 | february | 0 | 9999
    999 | years | days | tagen | ago | of | the | 29 | 2025-02-30 | december""")


@given(some.text() | some.lists(some.sampled_from(_TOLD)).map(" ".join))
def test_any_text_is_safe(question):
    found = spans.of_question(question, NOW)
    assert found is None or found.since is None or found.until is None or found.since < found.until


SATURDAY = datetime(2026, 11, 21, 10, 0, tzinfo=timezone(timedelta(hours=1)))


@for_each(
    ("statement", "dated"),
    columns("""I moved to Linz yesterday → I moved to Linz on 20 November 2026
        Yesterday I moved to Linz. → On 20 November 2026 I moved to Linz.
        I leave tomorrow morning → I leave on the morning of 22 November 2026
        The day before yesterday it rained → On 19 November 2026 it rained
        I fly the day after tomorrow → I fly on 23 November 2026 | I am ill today → I am ill on 21 November 2026
        Since yesterday I live in Linz → Since 20 November 2026 I live in Linz
        I am away until tomorrow → I am away until 22 November 2026
        Yesterday's meeting was moved → 20 November 2026's meeting was moved
        Last night I slept badly → In the night of 20 November 2026 I slept badly
        I met Tom last week → I met Tom in the week of 9 November 2026
        next week I am in Rome → in the week of 23 November 2026 I am in Rome
        I quit last month → I quit in October 2026
        I have been ill since last month → I have been ill since October 2026 | I turn 50 next year → I turn 50 in 2027
        this year I learn Czech → in 2026 I learn Czech | I met Tom last Friday → I met Tom on 20 November 2026
        The exam is next Friday → The exam is on 27 November 2026
        The exam was on Tuesday last week → The exam was on 10 November 2026
        I saw her last weekend → I saw her on the weekend of 14 November 2026
        I met Tom three days ago → I met Tom on 18 November 2026
        I met Tom two weeks ago → I met Tom in the week of 2 November 2026
        I began 3 months ago → I began in August 2026 | I began two years ago → I began in 2024
        The exam is in two weeks → The exam is in the week of 30 November 2026
        The exam is in 3 days → The exam is on 24 November 2026 | I was there last March → I was there in March 2026
        I was there last December → I was there in December 2025
        Ich bin gestern nach Linz gezogen → Ich bin am 20. November 2026 nach Linz gezogen
        Gestern war ich in Linz → Am 20. November 2026 war ich in Linz
        Vorgestern hat es geregnet → Am 19. November 2026 hat es geregnet
        Ich fliege morgen nach Rom → Ich fliege am 22. November 2026 nach Rom
        Ich fliege übermorgen → Ich fliege am 23. November 2026
        Papa wird am Freitag operiert → Papa wird am 27. November 2026 operiert
        dad has surgery on Friday → dad has surgery on 27 November 2026
        dad had surgery on Friday → dad had surgery on 20 November 2026
        I met Tom on Friday → I met Tom on 20 November 2026
        On Friday we meet Fred → On 27 November 2026 we meet Fred
        The exam is on Saturday → The exam is on 28 November 2026
        I need the car on Friday → I need the car on 27 November 2026
        The car is serviced on Friday morning → The car is serviced on the morning of 27 November 2026
        I arrive on Friday and leave on Sunday → I arrive on 27 November 2026 and leave on 22 November 2026
        Ich habe am Freitag einen Termin → Ich habe am 27. November 2026 einen Termin
        Die Feier ist am Freitagabend → Die Feier ist am Abend des 27. November 2026
        Papa hat am Freitag Oma besucht → Papa hat am 20. November 2026 Oma besucht
        Ich bin am Freitag nach Linz gezogen → Ich bin am 20. November 2026 nach Linz gezogen
        Seit gestern wohne ich in Linz → Seit dem 20. November 2026 wohne ich in Linz
        Ich bin bis morgen krank → Ich bin bis zum 22. November 2026 krank
        Ich war gestern Abend im Kino → Ich war am Abend des 20. November 2026 im Kino
        Letzte Woche war ich in Rom → In der Woche vom 9. November 2026 war ich in Rom
        Ich bin nächste Woche weg → Ich bin in der Woche vom 23. November 2026 weg
        Die Prüfung ist nächsten Montag → Die Prüfung ist am 23. November 2026
        Die Prüfung war am letzten Freitag → Die Prüfung war am 20. November 2026
        Ich habe letzten Monat gekündigt → Ich habe im Oktober 2026 gekündigt
        Letztes Jahr war ich in Rom → Im Jahr 2025 war ich in Rom
        Im nächsten Jahr werde ich 50 → Im Jahr 2027 werde ich 50
        Heuer lerne ich Tschechisch → Im Jahr 2026 lerne ich Tschechisch
        Ich war vor zwei Wochen in Rom → Ich war in der Woche vom 2. November 2026 in Rom
        Ich war vor drei Tagen in Rom → Ich war am 18. November 2026 in Rom
        Die Prüfung ist in zwei Wochen → Die Prüfung ist in der Woche vom 30. November 2026"""),
)
def test_words_for_time_in_a_statement_become_dates(statement, dated):
    assert spans.resolve(statement, SATURDAY) == dated
    assert spans.resolve(dated, SATURDAY + timedelta(days=400)) == dated


@for_each(
    "statement",
    [
        "",
        *listed("""I like the song “Yesterday” | The film "Last Friday" is good | We saw the film Yesterday
        I read USA Today | I work on Mondays | Every day I run | The weekday does not matter | Guten Morgen
        Am Morgen trinke ich Tee | I ski every year | I walked it in two weeks | Ich habe es in zwei Wochen gelernt
        I live in Graz | my birthday is 3 May | jeden Morgen laufe ich | nothing lasts | The next train leaves at nine
        I have worked there for two years | the last one | I swim on Fridays | I swim every Friday | freitags
        am Freitag immer Pizza | We always meet on Friday | The shop is closed on Monday | I have choir on Friday
        I train on Monday and Thursday | on Friday 27 November | on Friday, the 27th | am Freitag, dem 27. November
        am 27.11., am Freitag | Is it on Friday? | on Friday's list | If it rains on Friday | on Friday after Easter
        Papa ist am Freitag eingeladen | I was told that dad will come on Friday | on Friday evenings
        The sign says 'open tomorrow' | am Freitag, 27.11."""),
    ],
)
def test_a_statement_without_such_words_is_left_as_it_is(statement):
    assert spans.resolve(statement, SATURDAY) == statement


def test_what_is_written_as_a_fact_has_dates_and_its_quote_has_the_words(db):
    claim = adoption.claim("I moved to Linz yesterday", "typed", quote="moved to Linz yesterday")
    fact = adoption.add(memory_of(db, lambda: SATURDAY), claim).fact
    assert (fact.statement, fact.object, fact.quote) == (
        "I moved to Linz on 20 November 2026",
        "Linz",
        "moved to Linz yesterday",
    )
    older = adoption.claim("I met Tom last week", "import", learned=SATURDAY - timedelta(days=70))
    assert older.statement == "I met Tom in the week of 31 August 2026"


@given(
    some.text() | some.lists(some.sampled_from((*_TOLD, "yesterday", "morgen", "next", "friday", "9999"))).map(" ".join)
)
def test_any_statement_is_safe(statement):
    assert isinstance(spans.resolve(statement, NOW), str)


EVENING = datetime(2026, 11, 20, 18, 30, tzinfo=timezone(timedelta(hours=1)))


def days(statement, **more):
    found = spans.of_statement(statement, EVENING, **more)
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
    found = spans.of_statement("I live in Salzburg until 31 December 2026", EVENING)
    assert found.until is not None
    assert found.until.isoformat() == "2026-12-31T23:59:59.999000+01:00"


@pytest.mark.parametrize(
    ("statement", "written", "since", "until"),
    columns("""
        I work at Bosch since Monday → I work at Bosch since 16 November 2026 → 2026-11-16 → -
        I live in Graz since Friday → I live in Graz since 13 November 2026 → 2026-11-13 → -
        I stay in Wels until Monday → I stay in Wels until 23 November 2026 → - → 2026-11-23
        As of Monday I work at Bosch → As of 23 November 2026 I work at Bosch → 2026-11-23 → -
        From Monday on I work at Bosch → From 23 November 2026 I work at Bosch → 2026-11-23 → -
        Seit Mittwoch wohne ich in Graz → Seit dem 18. November 2026 wohne ich in Graz → 2026-11-18 → -
        Ich bin bis Dienstag in Wels → Ich bin bis zum 24. November 2026 in Wels → - → 2026-11-24
        Ab Montag arbeite ich bei Bosch → Ab dem 23. November 2026 arbeite ich bei Bosch → 2026-11-23 → -
        I work at Bosch since 3/4/2026 → I work at Bosch since 3 April 2026 → 2026-04-03 → -
        I work at Bosch since 3/14/2026 → I work at Bosch since 14 March 2026 → 2026-03-14 → -
        Seit 3/4/2026 wohne ich in Graz → Seit 3. April 2026 wohne ich in Graz → 2026-04-03 → -
        Ich wohne seit 3.4.26 in Graz → Ich wohne seit 3.4.26 in Graz → 2026-04-03 → -
        The shop is open Monday until Friday → The shop is open Monday until Friday → - → -
        Offen von Montag bis Freitag → Offen von Montag bis Freitag → - → -
        Since 31/31/2026 I wait → Since 31/31/2026 I wait → - → -"""),
)
def test_a_weekday_or_a_date_with_slashes_is_written_out(monkeypatch, statement, written, since, until):
    monkeypatch.setenv("LC_ALL", "de_AT.UTF-8")
    assert spans.resolve(statement, EVENING) == written
    assert [each or "-" for each in days(written)] == [since, until]


def test_with_slashes_the_month_comes_first_where_the_locale_says_so(monkeypatch):
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    assert spans.resolve("I work at Bosch since 3/4/2026", EVENING) == "I work at Bosch since 4 March 2026"
