"""Words for time in a question, as a range of days."""

from datetime import datetime, timedelta, timezone

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
        I have worked there for two years | the last one"""),
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
