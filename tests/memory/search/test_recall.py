"""What is found for a question in any language, what is not, and how sure it is."""

from datetime import timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some

from agent_cli import clock
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.dates import periods
from agent_cli.memory.facts import adoption
from agent_cli.memory.planner import notes
from agent_cli.memory.scope import PERSON
from agent_cli.memory.search import index, passage_context, recall
from agent_cli.memory.search.candidates import Filter
from agent_cli.memory.summaries import summaries
from agent_cli.messages import Part
from tests.conftest import HERE, NOON, empty, memory_of, noon
from tests.recalling import (
    ELSEWHERE,
    EMBEDDED,
    STRANGER,
    catch_up,
    day,
    embed,
    fact,
    find,
    handles,
    note,
    reply,
    say,
    session_of,
    take_in,
)
from tests.tables import columns, listed
from tests.turns import summarise

SMALL_TALK = listed("""The weather is fine again | I watched a film about whales | Dinner was pasta with basil
    We should paint the fence green | The train was late this morning | My bicycle needs new brakes""")


@pytest.fixture
def talk(db, session):
    """Some talk that has nothing to do with it."""
    for words in SMALL_TALK:
        say(db, session, words)
    return session


def test_a_plain_question_finds_the_message_that_has_some_of_its_words(db, talk):
    said = say(db, talk, "The cat of my sister is called Mia")
    assert handles(db, "What is the name of my sister's cat?")[0] == said


def test_a_rare_word_says_more_than_common_ones(db, talk):
    for number in range(20):
        say(db, session_of(db), f"The garden in the town of number {number} has a gate")
    said = say(db, session_of(db), "There is a pomegranate in it")
    assert handles(db, "Which garden in town has a pomegranate?")[0] == said


def test_an_answer_is_found_by_the_question_before_it(db, talk):
    say(db, talk, "What was the name of the hotel in Lisbon?")
    answer = say(db, talk, "Casa Azul, with the blue tiles")
    assert answer in handles(db, "hotel in Lisbon")[:2]


def test_what_the_named_person_said_comes_first(db, session):
    for author in ("Ann", "Bob", "Cleo"):
        take_in(db, session, f"{author} here. The weather is nice.", author)
    take_in(db, session, "Tomorrow I start to learn the cello", "Ann")
    take_in(db, session, "I play the cello too, every single day", "Bob")
    found = [hit.text for hit in find(db, "Does Bob play the cello?").hits]
    assert found[0] == "I play the cello too, every single day"
    assert "speaker" in find(db, "Does Bob play the cello?").hits[0].legs


ASKED_AND_ANSWERED = {
    "What did you suggest I cook for my parents?": (
        "My parents want to cook with me on Sunday",
        "What should I cook tonight for my parents?",
        "Try a mushroom risotto with parmesan and a green salad; it is quick and most people like it.",
    ),
    "Was hast du mir für den Geburtstag meines Bruders empfohlen?": (
        "Zum Geburtstag meines Bruders fahre ich nach Linz",
        "Was soll ich meinem Bruder zum Geburtstag schenken?",
        "Eine Karte für das Konzert im Herbst, oder ein gutes Küchenmesser.",
    ),
    "Which places did you list for the weekend in Vienna?": (
        "I was in Vienna for a weekend with my boss",
        "I want to plan a weekend in Vienna with my kids, any ideas?",
        "1. the zoo at Schönbrunn 2. the Prater 3. the Technical Museum 4. a boat on the Old Danube. " * 12,
    ),
}


@pytest.mark.parametrize("question", ASKED_AND_ANSWERED)
def test_who_asks_what_the_assistant_said_gets_its_answer_first(db, talk, question):
    told, asked, answer = ASKED_AND_ANSWERED[question]
    say(db, talk, told)
    reply(db, talk, "That sounds like a plan.")
    say(db, talk, asked)
    answered = reply(db, talk, answer)
    assert handles(db, question)[0] == answered


@pytest.mark.parametrize(
    ("question", "asked", "answer"),
    columns("""What did you suggest against the slugs? → My salad is eaten every night, any ideas? → Slugs avoid copper.
        Wie habe ich die Schnecken vertrieben? → Wer frisst den Salat jede Nacht? → Schnecken meiden Kupfer."""),
)
def test_what_a_person_asked_is_found_with_the_reply_that_is_asked_for(db, talk, question, asked, answer):
    before = say(db, talk, asked)
    answered = reply(db, talk, answer)
    say(db, talk, "Thanks, the rain has stopped")
    assert handles(db, question) == [answered, before]


@pytest.mark.parametrize(
    ("wish", "others", "question"),
    [
        (
            "I prefer working on my essay in the library, it is quiet there",
            ("I work on the essay about whales", "The work on my essay went well today", "My essay has two pages"),
            "Where should I work on my essay tomorrow?",
        ),
        (
            "Einen Aufsatz schreibe ich lieber in der Bibliothek, dort ist es ruhig",
            ("Der Aufsatz handelt von Walen", "Ich habe heute einen Aufsatz gelesen", "Mein Aufsatz hat zwei Seiten"),
            "Wie soll ich mit meinem Aufsatz anfangen?",
        ),
    ],
)
def test_who_asks_for_advice_gets_what_they_prefer_in_the_matter_first(db, talk, wish, others, question):
    said = say(db, talk, wish)
    for words in others:
        say(db, talk, words)
    assert handles(db, question)[0] == said


SPREAD = {
    "What steps did I plan to pack the books, tell the landlord and hand over the keys?": (
        "Pack the books first.",
        "Then tell the landlord.",
        "In the end hand over the keys.",
    ),
    "Welche Schritte habe ich geplant, um die Bücher zu packen, den Vermieter zu informieren und zu putzen?": (
        "Zuerst die Bücher packen.",
        "Dann den Vermieter informieren.",
        "Am Ende putzen.",
    ),
}


@pytest.mark.parametrize("question", SPREAD)
def test_what_is_spread_over_a_long_reply_is_found_before_replies_with_one_part_of_it(db, talk, question):
    filler = "That takes about an afternoon, so begin early and take breaks. " * 30
    for part in SPREAD[question]:
        say(db, talk, "Can you tell me more about this?")
        reply(db, talk, f"{part} {filler}{part} {part}")
    say(db, talk, "I am moving out in May, can you help?")
    plan = reply(db, talk, filler.join(SPREAD[question]))
    assert handles(db, question)[0] == plan


def test_what_people_said_some_turns_before_tells_what_a_message_is_about(db):
    answers = []
    for first, berth in (("Does your boat still lie in the harbour of Vrsar?", 36), ("Nice weather up here", 71)):
        talked = session_of(db)
        take_in(db, talked, first, "Ann")
        for author, words in (("Bob", "It does"), ("Ann", "Good to know"), ("Bob", "Why?")):
            take_in(db, talked, words, author)
        answers.append(take_in(db, talked, f"Because I paid for berth {berth}", "Ann"))
    found = find(db, "Which berth in the harbour of Vrsar was paid for?").hits
    legs = {hit.handle: hit.legs for hit in found if hit.handle in answers}
    assert list(legs) == answers
    assert legs[answers[0]]["around"] > legs[answers[1]]["around"]


@pytest.mark.parametrize(
    ("question", "told"),
    columns("""What did I buy yesterday? → 2026-01-01 | Was habe ich gestern gekauft? buy → 2026-01-01
        What did I buy in March? → 2025-03-14 | What did I buy on 3 May 2025? → 2025-05-03
        What did I buy last week? → 2025-12-24 | What did I buy in 2024? → 2024-07-07"""),
)
def test_words_for_time_put_what_was_said_then_first(db, question, told):
    for each in ("2026-01-01", "2025-03-14", "2025-05-03", "2025-12-24", "2024-07-07", "2023-07-07"):
        say(db, session_of(db), f"I did buy a thing of kind {each[:4]} {each[5:7]}", day(each))
    found = find(db, question).hits[0]
    assert found.text == f"I did buy a thing of kind {told[:4]} {told[5:7]}"
    assert "time" in found.legs


def test_what_is_said_twice_is_shown_once(db):
    first = "The meeting with the tax adviser about the house is in the old town hall"
    for words in (first, first + ".", first.upper()):
        say(db, session_of(db), words)
    assert len(handles(db, "tax adviser meeting")) == 1


@pytest.mark.parametrize(
    "other",
    [
        "The meeting with the tax adviser about the house is in room 5 of the old town hall",
        "The meeting with the tax adviser about the house is not in room 4 of the old town hall",
    ],
)
def test_what_differs_in_a_number_or_a_negation_is_not_the_same(db, other):
    first = "The meeting with the tax adviser about the house is in room 4 of the old town hall"
    both = {say(db, session_of(db), words) for words in (first, other)}
    assert set(handles(db, "tax adviser meeting")) == both


def test_a_hidden_session_or_note_is_not_found_until_it_is_restored(db, session):
    said = say(db, session, "The spare key is under the flowerpot")
    handle = note(db, "A quince tree is by the gate")
    kept = notes.get(db, int(handle[1:]), "person")
    catch_up(db)
    sessions.change(db, session, hidden_at=clock.utc(NOON))
    notes.hide(db, kept, noon)
    assert (find(db, "spare key").hits, find(db, "spare key").verdict) == ((), "nothing")
    assert find(db, "quince tree").verdict == "nothing"
    sessions.change(db, session, hidden_at=None)
    notes.restore(db, kept, noon)
    assert (handles(db, "spare key"), handles(db, "quince tree")) == ([said], [handle])


def test_the_summary_of_a_session_is_found_and_not_when_the_session_is_hidden(db, session):
    summarise(db, session, "The person wants to move to Porto.")
    assert handles(db, "Porto") == ["y1"]
    sessions.change(db, session, hidden_at=clock.utc(NOON))
    assert handles(db, "Porto") == []


def test_the_summary_of_a_week_is_found_by_its_grain_and_says_which_week_it_tells_of(db, session):
    said = say(db, session, "We move to Porto")
    summarise(db, session, "The person wants to move to Porto.")
    for key in ("2025-W50", "2025-12"):
        made = summaries.NewSummary(f"Porto was all they spoke of in {key}.", "", "model", "m")
        with db.write():
            summaries.save_period(db, "person", periods.parse(key), made, "2025-12-14T10:00:00.000Z", noon)
    assert set(handles(db, "Porto")) == {said, "y1", "y2", "y3"}
    assert set(handles(db, "Porto", unit="week")) == {said, "y2"}
    assert handles(db, "Porto", unit="month", kinds=("summary",)) == ["y3"]
    assert handles(db, "Porto", unit="year", kinds=("summary",)) == []
    labels = {hit.handle: hit.label for hit in find(db, "Porto", kinds=("summary",)).hits}
    assert labels == {"y1": "", "y2": "(summary of 2025-W50)", "y3": "(summary of 2025-12)"}


@pytest.mark.parametrize("change", ["rejected", "pending", "superseded", "expired", "hidden"])
def test_only_a_fact_in_force_is_found_alone_and_by_its_message(db, session, change):
    said = say(db, session, "Hello there")
    number = fact(db, "The person is allergic to walnuts", message=int(said[1:]))
    assert set(handles(db, "allergic to walnuts")) == {f"f{number}", said}
    changed = "hidden_at = '2026-01-02T12:00:00.000Z'" if change == "hidden" else f"state = '{change}'"
    with db.write():
        db.execute(f"update fact set {changed} where id = ?", (number,))
    assert (handles(db, "allergic to walnuts"), find(db, "allergic to walnuts").verdict) == ([], "nothing")


def test_a_hidden_fact_is_not_found_even_before_the_index_has_caught_up(db, session):
    number = fact(db, "The person is allergic to walnuts")
    assert handles(db, "walnuts") == [f"f{number}"]
    db.execute("update fact set hidden_at = 'x' where id = ?", (number,))
    db.execute("delete from stale")
    assert handles(db, "walnuts") == []


def test_nothing_of_another_owner_is_found(db, session):
    mine = say(db, session, "The spare key is under the flowerpot")
    theirs = session_of(db, STRANGER)
    other = say(db, theirs, "The spare key is in the shed", scope=STRANGER)
    note(db, "A spare key of the stranger", scope=STRANGER)
    fact(db, "The stranger has a spare key", owner="caller")
    assert handles(db, "spare key") == [mine]
    assert other in handles(db, "spare key", owner="caller")
    assert mine not in handles(db, "spare key", owner="caller")


def test_filters_leave_out_everything_else(db, session):
    old = say(db, session, "The boat is called Anna", day("2025-06-01"))
    new = say(db, session, "The boat Anna leaks", day("2025-12-01"))
    by_bob = take_in(db, session, "A boat needs paint, Anna", "Bob", day("2025-09-01"))
    away = session_of(db, ELSEWHERE)
    there = say(db, away, "Anna the boat was sold", scope=ELSEWHERE)
    written = note(db, "Boat insurance ends in June")
    number = fact(db, "The person owns a boat")

    def found(**filters):
        return set(handles(db, "boat", **filters))

    assert found() == {old, new, by_bob, there, written, f"f{number}"}
    assert found(kinds=("message",)) == {old, new, by_bob, there}
    assert found(kinds=("note",)) == {written}
    assert found(kinds=("note", "fact")) == {written, f"f{number}"}
    assert found(kinds=("message", "fact")) == {old, new, by_bob, there, f"f{number}"}
    assert found(kinds=("summary",)) == set()
    assert found(place=ELSEWHERE.place) == {there}
    assert found(author="Bob") == {by_bob}
    assert found(until=day("2025-08-01").timestamp()) == {old}
    assert found(since=day("2025-08-01").timestamp(), until=day("2025-11-01").timestamp()) == {by_bob}
    assert found(since=day("2026-06-01").timestamp()) == set()
    assert found(excluded_messages=(int(old[1:]), int(new[1:]))) == {by_bob, there, written, f"f{number}"}


@pytest.mark.parametrize(
    ("said", "asked"),
    columns("""我下周去东京出差 → 东京 | 我们在大别山里走了三天 → 大别山 | 我们在大别山里走了三天 → 你去过大别山吗？
        来月は京都で会いましょう → 京都
        제 고양이 이름은 미아입니다 → 고양이
        แมวของฉันชื่อมีอา → แมว"""),
)
def test_words_without_spaces_are_found(db, talk, said, asked):
    handle = say(db, talk, said)
    found = find(db, asked)
    assert found.hits[0].handle == handle
    assert found.verdict in ("known", "maybe")


@pytest.mark.parametrize(
    ("said", "asked"),
    columns("""Dinner with Katarzyna in the harbour → Katarzina
        The appointment with Dr. Schwarzenbacher was moved → Schwarzenbaher
        Set MAX_RETRY_COUNTER to seven → retry_coun | The handler is called onConnectionClosed → connectionclo
        The ticket is ABC-2041-XY → 2041-XY"""),
)
def test_a_misspelt_name_and_half_an_identifier_are_found(db, talk, said, asked):
    handle = say(db, talk, said)
    assert handles(db, asked)[0] == handle


def test_the_doctor_finds_the_dentist_without_a_word_in_common(db, talk):
    dentist = note(db, "dentist appointment Friday 3pm")
    note(db, "buy milk and two loaves of bread")
    embed(db)
    found = find(db, "when do I see the doctor?", meaning=EMBEDDED)
    assert found.hits[0].handle == dentist
    assert "meaning" in found.hits[0].legs
    assert found.verdict != "nothing"
    assert dentist not in handles(db, "when do I see the doctor?")


@pytest.mark.parametrize(
    ("question", "verdict"),
    columns("""What is the name of the cat of my sister? → known | Has my sister's cat seen the submarine? → maybe
        Which submarine sank near Murmansk, and in which decade? → nothing"""),
)
def test_the_verdict_says_how_much_of_the_question_is_known(db, talk, question, verdict):
    say(db, talk, "The name of the cat of my sister is Mia")
    assert find(db, question).verdict == verdict


def test_who_has_no_umlauts_on_the_keyboard_finds_what_was_written_with_them(db, talk):
    kitchen = say(db, talk, "Die Küche in der Blumenstraße wird blau")
    found = find(db, "kueche blumenstrasse")
    assert ([each.handle for each in found.hits], found.verdict) == ([kitchen], "known")


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ("The boat lies in Vrsar. The roof cost 300 euros.", "maybe"),
        ("The boat lies in Vrsar.\nthe roof cost 300 euros", "maybe"),
        ("The roof was mended. The boat cost 300 euros.", "known"),
    ],
)
def test_what_a_summary_says_of_other_things_tells_nothing_of_what_is_asked(db, session, words, verdict):
    say(db, session, "The weather is fine")
    summarise(db, session, words)
    assert find(db, "what did the boat cost?").verdict == verdict


def test_in_an_empty_memory_nothing_is_known(db):
    found = find(db, "What is my name?")
    assert (found.verdict, found.hits, found.damaged) == ("nothing", (), ())


def test_the_question_in_the_log_is_no_answer_to_itself(db, talk):
    said = say(db, talk, "Dinner with Katarzyna in the harbour")
    say(db, talk, "Where did I dine with Katarzina?")
    catch_up(db)
    found = recall.find(db, "Where did I dine with Katarzina?", Filter("person"), NOON, logged=True)
    assert [hit.handle for hit in found.hits][:1] == [said]
    unknown = say(db, talk, "Which submarine sank near Murmansk?")
    catch_up(db)
    found = recall.find(db, "Which submarine sank near Murmansk?", Filter("person"), NOON, logged=True)
    assert found.verdict == "nothing"
    assert unknown not in [hit.handle for hit in found.hits]


def test_a_hit_says_what_it_is(db):
    session = session_of(db)
    take_in(db, session, "The cat is called Mia", "Ann", NOON, "D1:3")
    (hit,) = find(db, "cat").hits
    said = "message", 1, "D1:3", session, NOON.timestamp(), "The cat is called Mia"
    assert (hit.kind, hit.id, hit.external_id, hit.session, hit.at, hit.text) == said
    assert sum(hit.legs.values()) == pytest.approx(hit.score)


def test_of_two_that_say_as_much_the_newer_comes_first_and_an_old_one_is_still_found(db):
    old = say(db, session_of(db), "The boiler was serviced by Meier", NOON - timedelta(days=3000))
    new = say(db, session_of(db), "The boiler was serviced by Huber", NOON - timedelta(days=1))
    assert handles(db, "Who serviced the boiler?") == [new, old]


_ODD = """"|""|'|a AND|OR OR|NEAR(a b)|own:cat|-cat|^cat|cat*|(cat|{own} : cat|cat\0dog|\0|👋🏽|\ud800
|cat \udfff dog|| |\n
|the of and|der die das|what is it|・|_|___|a_b-c.d|ſunday|in December 9999|31 December 9999|last frıday
|on 31 February|99999 years ago|sıx days ago|before 0000-00-00|%|\\|ﬁre|ß|é\u0301"""
NASTY = (*_ODD.split("|"), "x" * 1_000_000, "cat " * 250_000, "东" * 5000)


@pytest.fixture(scope="module")
def searched():
    database = empty()
    session = session_of(database)
    for words in ("The cat is called Mia", "my dog barks", "东京很大", "MAX_RETRY_COUNTER is 7", "x" * 3000):
        say(database, session, words)
    embed(database)
    yield database
    database.close()


@pytest.mark.parametrize("question", NASTY, ids=range(len(NASTY)))
def test_any_question_is_safe(searched, question):
    found = find(searched, question, meaning=EMBEDDED)
    assert found.damaged == ()


_TOKENS = """cat AND OR NOT NEAR ( ) " * ^ : - + { } own , last week in march \0 东京 mia 3 may ago two days ' ; --
    \ud83d 🎉 retry_c"""
_PIECES = some.sampled_from(_TOKENS.split())


@given(question=some.one_of(some.text(), some.lists(_PIECES).map(" ".join), some.lists(_PIECES).map("".join)))
@settings(max_examples=200)
@example("in December 9999")
def test_any_text_at_all_is_safe(searched, question):
    found = find(searched, question, meaning=EMBEDDED)
    assert found.damaged == ()
    assert found.verdict in ("known", "maybe", "nothing")
    for hit in found.hits:
        assert sum(hit.legs.values()) == pytest.approx(hit.score)


def test_an_answer_of_the_assistant_is_found_and_one_of_the_offline_model_is_not(db, session):
    given_ = reply(db, session, "The capital of Bhutan is Thimphu")
    quoted = reply(db, session, "I only quote: Bhutan")
    db.execute("update message set model = 'offline' where id = ?", (int(quoted[1:]),))
    assert handles(db, "Bhutan") == [given_]


def test_neighbours_are_those_in_the_conversation_whatever_was_indexed_last(db, session):
    for words in ("What is your favourite dish?", "Käsespätzle, always.", "Mine is ramen."):
        log.add_user_message(db, session, HERE, [Part(words, "typed")], NOON)
    while index.refresh(db):
        pass
    db.execute("insert into stale (kind, row) values ('m', 2)")  # as when a fact of it is accepted
    while index.refresh(db):
        pass
    ids_in_order = [id for (id,) in db.rows("select id from passage where kind = 'm' order by row")]
    assert ids_in_order != sorted(ids_in_order)
    around = passage_context.neighbours(db, ids_in_order)
    assert [around[id] for id in ids_in_order] == [
        (0, 0, ids_in_order[1]),
        (0, ids_in_order[0], ids_in_order[2]),
        (ids_in_order[0], ids_in_order[1], 0),
    ]


def learn(db, words, at, session=None, **more):
    """What the person says and what is learned from it."""
    message = int(say(db, session or session_of(db), words, day(at))[1:])
    told = adoption.claim(words, "typed", message=message, quote=words, learned=day(at), **more)
    return adoption.add(memory_of(db, lambda: day(at)), told).fact, f"m{message}"


@pytest.mark.parametrize(
    ("first", "then", "question"),
    columns("""I live in Graz → I moved to Linz → where do I live?
        Ich wohne in Graz → Ich bin nach Linz gezogen → Wo wohne ich?
        I work at Siemens → I started at Bosch → What is my job, where do I work?"""),
)
def test_what_is_true_now_comes_before_what_was(db, talk, first, then, question):
    _, old = learn(db, first, "2025-03-01")
    new, said = learn(db, then, "2025-06-12")
    found = find(db, question)
    assert found.hits[0].handle in (new.handle, said)
    assert found.hits[0].label == ""
    (outdated,) = [hit for hit in found.hits if hit.handle == old]
    assert outdated.label == "(no longer true since 12 June 2025)"
    assert outdated.legs["outdated"] < 0
    assert sum(outdated.legs.values()) == pytest.approx(outdated.score)


def test_a_message_of_which_some_is_still_true_says_so(db):
    words = "I live in Graz and my sister is Anna"
    message = int(say(db, session_of(db), words, day("2025-03-01"))[1:])
    for each in ("I live in Graz", "My sister is Anna"):
        told = adoption.claim(each, "typed", message=message, learned=day("2025-03-01"))
        adoption.add(memory_of(db, lambda: day("2025-03-01")), told)
    learn(db, "I moved to Linz", "2025-06-12")
    (hit,) = [hit for hit in find(db, "Graz").hits if hit.handle == f"m{message}"]
    assert hit.label == "(partly no longer true since 12 June 2025)"
    assert "outdated" not in hit.legs


def test_an_expired_fact_is_found_no_more(db):
    told = adoption.claim("Anna lives in Graz", "typed", valid_to=NOON + timedelta(days=1))
    known = adoption.add(memory_of(db), told).fact
    assert handles(db, "Anna Graz") == [known.handle]
    assert handles(db, "Anna Graz", now=NOON + timedelta(days=2)) == []


def test_a_fact_of_a_session_is_found_in_that_session_alone(db):
    here, there = session_of(db), session_of(db)
    told = adoption.claim("Anna is on the phone", "typed", session=here)
    known = adoption.add(memory_of(db), told).fact
    assert handles(db, "Anna phone", current_session=here) == [known.handle]
    assert handles(db, "Anna phone", current_session=there) == []
    assert handles(db, "Anna phone") == []


def test_a_fact_of_another_place_is_found_when_clearly_meant_or_asked_for_and_labelled(db, talk):
    told = adoption.claim("The tests run with make check", "typed", place="/home/other")
    known = adoption.add(memory_of(db), told).fact

    def found(question, **more):
        return [(hit.handle, hit.label) for hit in find(db, question, **more).hits if hit.kind == "fact"]

    label = "(true in /home/other)"
    assert found("How do the tests run?", current_place="/home/someone") == [(known.handle, label)]
    assert found("How are the tests of the whole project deployed?", current_place="/home/someone") == []
    assert found("How are the tests of the whole project deployed?", current_place="/home/other") == [
        (known.handle, "")
    ]
    assert found("tests of the whole project", current_place="/home/someone", place="/home/other") == [
        (known.handle, label)
    ]


@pytest.mark.parametrize("files", [False, True])
def test_how_long_passages_are_is_read_off_the_newest_of_them_and_no_others(db, files):
    """By steps of SQLite's machine: time would say it only in a large file."""
    sign = -1 if files else 1
    with db.write():
        db.execute("insert into area values (1, 'person', '/')")
        db.execute("insert into day values (1, '')")
        db.execute_many(
            "insert into passage (id, kind, row, length, area, at, day) values (?, 'n', ?, 7, 1, 0, 1)",
            [(sign * number, number) for number in range(1, 20_001)],
        )
    steps = []
    db._connection.set_progress_handler(lambda: bool(steps.append(1)), 1000)
    assert recall._average(db, files) == 7
    db._connection.set_progress_handler(None)
    assert len(steps) < 20


def test_the_coarsest_summaries_of_a_time_stand_before_what_was_said_in_it(db):
    """A week before the days beside it; of a day that left no summary, that of its week."""
    session = session_of(db)
    late = say(db, session, "The stove was lit", day("2025-12-31"))
    say(db, session, "Good morning", day("2025-12-31"))
    say(db, session, "Where is the axe?", day("2025-12-31"))
    for key in ("2025-12-21", "2025-12-24", "2025-W52", "2025-12-29"):
        period = periods.parse(key)
        last = clock.utc(day(f"{period.end - timedelta(days=1)}"))
        made = summaries.NewSummary(f"They spoke of {key}.", "", summaries.MODEL, "m")
        with db.write():
            summaries.save_period(db, PERSON, period, made, last, noon)
    assert handles(db, "What happened in the last twelve days?") == ["y3", "y4", "y1", late]
    assert handles(db, "last week", kinds=("message",)) == []
    assert handles(db, "What did I do on Tuesday last week?") == ["y3"]
    assert handles(db, "What was said last week?") == ["y3"]
    assert handles(db, "What will I do this week?") == []


TALKS = {  # what is told, the answer to it, and a question about it
    "Chinese": (
        ("我的妹妹叫小梅,住在成都", "成都的火锅很有名。", "我妹妹叫什么名字?"),
        ("我对花生过敏,不能吃花生酱", "好的,我会注意。", "我对什么过敏?"),
        ("下星期三下午三点我要看牙医", "记得带医保卡。", "什么时候看牙医?"),
        ("我们的狗叫豆豆,今年五岁了", "豆豆真可爱。", "狗几岁了?"),
        ("我在上海的一家银行工作,做会计", "会计工作很细致。", "我在哪里工作?"),
        ("去年夏天我们去云南旅行,看了玉龙雪山", "云南的风景很美。", "去年夏天去了哪里旅行?"),
        ("我把护照放在书房的蓝色盒子里", "这样不容易丢。", "护照在哪里?"),
        ("我最喜欢的书是《红楼梦》", "那是一部名著。", "我喜欢什么书?"),
    ),
    "Japanese": (
        ("妹の名前はさくらで、京都に住んでいます", "京都は素敵な町ですね。", "妹の名前は何ですか"),
        ("私はエビのアレルギーがあります", "気をつけます。", "何のアレルギーがありますか"),
        ("来週の水曜日に歯医者の予約があります", "保険証をお忘れなく。", "歯医者はいつですか"),
        ("うちの犬はポチという名前で、五歳です", "かわいいですね。", "犬は何歳ですか"),
        ("大阪の銀行で会計の仕事をしています", "大変なお仕事ですね。", "どこで仕事をしていますか"),
        ("去年の夏、北海道へ旅行に行きました", "涼しかったでしょう。", "去年の夏はどこへ旅行しましたか"),
        ("パスポートは青い箱の中にあります", "わかりました。", "パスポートはどこですか"),
        ("好きな本は「雪国」です", "川端康成の名作ですね。", "好きな本は何ですか"),
    ),
    "German": (
        ("Meine Schwester heißt Katrin und wohnt in Linz", "Linz liegt an der Donau.", "Wie heißt meine Schwester?"),
        ("Ich bin gegen Erdnüsse allergisch", "Darauf achte ich.", "Wogegen bin ich allergisch?"),
        ("Nächsten Mittwoch um drei muss ich zum Zahnarzt", "Denken Sie an die Karte.", "Wann muss ich zum Zahnarzt?"),
        ("Unser Hund heißt Bello und ist fünf Jahre alt", "Ein schönes Alter.", "Wie alt ist unser Hund?"),
        ("Ich arbeite als Buchhalter bei einer Bank in Graz", "Das klingt verantwortungsvoll.", "Wo arbeite ich?"),
        ("Letzten Sommer sind wir nach Rom gereist", "Rom ist schön.", "Wohin sind wir letzten Sommer gereist?"),
        ("Mein Reisepass liegt in der blauen Schachtel", "Gut zu wissen.", "Wo liegt mein Reisepass?"),
        ("Mein Lieblingsbuch ist der Zauberberg", "Ein großer Roman.", "Was ist mein Lieblingsbuch?"),
    ),
    "English": (
        ("My sister is called Karen and lives in Leeds", "Leeds is a lively city.", "What is my sister called?"),
        ("I am allergic to peanuts", "I will keep it in mind.", "What am I allergic to?"),
        ("Next Wednesday at three I must go to the dentist", "Take your card along.", "When must I go to the dentist?"),
        ("Our dog is called Rex and is five years old", "A good age.", "How old is our dog?"),
        ("I work as an accountant at a bank in York", "That sounds responsible.", "Where do I work?"),
        ("Last summer we travelled to Norway", "The fjords are beautiful.", "Where did we travel last summer?"),
        ("My passport lies in the blue box", "Good to know.", "Where is my passport?"),
        ("My favourite book is Middlemarch", "A great novel.", "What is my favourite book?"),
    ),
}
STRANGE = {
    "Chinese": "汽车的颜色是什么?",
    "Japanese": "車の色は何色ですか",
    "German": "Welche Farbe hat das Auto?",
    "English": "Which colour is the roof?",
}


@pytest.mark.parametrize("language", TALKS)
def test_what_was_told_is_found_first_in_any_language(db, session, language):
    for words, answer, _ in TALKS[language]:
        say(db, session, words)
        reply(db, session, answer)
    found = [find(db, question) for *_, question in TALKS[language]]
    assert [each.hits[0].text for each in found] == [words for words, *_ in TALKS[language]]
    assert "nothing" not in {each.verdict for each in found}
    assert find(db, STRANGE[language]).verdict == "nothing"
