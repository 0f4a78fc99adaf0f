"""Recall in daily use: the same is asked again and again, answered or not, and the truth changes."""

from contextlib import closing

import pytest

from agent_cli.agent import prompt_recall
from agent_cli.memory.facts import adoption
from agent_cli.memory.planner import notes
from agent_cli.memory.search import recall_log
from tests.conftest import empty, memory_of, noon
from tests.recalling import EMBEDDED, catch_up, embed, find, note, reply, say, session_of, take_in
from tests.tables import columns, for_each, listed
from tests.turns import summarise

PASSPORT = "The passport lies in the blue folder in the attic"
WORDINGS = listed("""Where is my passport? | Do you know where I put my passport? | where did I leave the passport
    Passport, where is it? | I can't remember where my passport is | Can you tell me the place of my passport?
    Have you any idea where the passport could be? | Wo ist mein passport?""")
TALK = listed("""Good to hear, congratulations | Thank you so much, that means a lot | The backups are on the drive
    Oh wow, how lovely | You deserve it, take care | The violets bloom early | Her bicycle has a flat tyre
    Fingers crossed then""")
IGNORANT = ("I do not know that.", "Sorry, I have no information about your passport.", "Das weiß ich leider nicht.")


def told(context, *said):
    """What a person says, without an answer; gives the handle of the last."""
    return [say(context.db, session_of(context.db), words) for words in said][-1]


def ask(context, question, answer, recalled=True):
    """One question in a session of its own, with what memory adds, and its answer; gives the handles recalled."""
    session = session_of(context.db)
    message = int(say(context.db, session, question)[1:])
    catch_up(context.db)
    if recalled:
        prompt_recall.recall_for_message(context, message, question, ())
    reply(context.db, session, answer)
    return [each.handle for each in recall_log.recalled_for(context.db, message)]


def learn(context, words):
    """What a person says and keeps as a fact."""
    message = int(told(context, words)[1:])
    claim = adoption.claim(words, "typed", message=message, quote=words)
    return adoption.add(memory_of(context.db), claim).fact


def test_asking_again_never_buries_the_note(context):
    told(context, "I bought a green bicycle", "Dinner was pasta with basil", "The train was late")
    kept = note(context.db, PASSPORT)
    for number, question in enumerate(2 * WORDINGS):
        assert ask(context, question, IGNORANT[number % 3]) == [kept]


def test_asking_again_never_buries_a_fact(context):
    fact = learn(context, "My passport number is P4711")
    for number, question in enumerate(WORDINGS):
        assert fact.handle in ask(context, question, IGNORANT[number % 3])


def test_what_was_asked_and_never_answered_is_not_known(context):
    for question in ("What is my blood type?", "do you know my blood type", "Which blood type have I?"):
        ask(context, question, "I do not know that.")
    assert find(context.db, "my blood type").verdict == "nothing"
    assert len(find(context.db, "my blood type").hits) == 1
    ask(context, "What is my blood type?", "Your blood type must be zero negative, like that of many people.")
    assert find(context.db, "What is my blood type?").verdict == "nothing"  # a reply makes nothing known of the person


def test_the_answer_comes_instead_of_its_question(context):
    ask(context, "What is the capital of Bhutan?", "Thimphu, in the west of the country.")
    best = find(context.db, "Do you know the capital of Bhutan?").hits[0]
    assert best.text == "Thimphu, in the west of the country."


def test_a_reply_that_repeats_its_source_is_not_recalled_beside_it(context):
    kept = note(context.db, PASSPORT)
    for question in WORDINGS:
        assert ask(context, question, "Your passport lies in the blue folder in the attic [n1].") == [kept]


@pytest.mark.parametrize(
    "question",
    listed("""I need my passport, where can I find it? | I am looking for my passport. | I cannot find my passport
        ich suche meinen passport | ich finde den passport nicht mehr"""),
)
def test_who_seeks_something_tells_nothing_of_it(context, question):
    kept = note(context.db, PASSPORT)
    ask(context, question, "I do not know that.")
    assert ask(context, "where is my passport?", "I do not know that.")[0] == kept
    assert [each.empty for each in find(context.db, "passport").hits if each.text == question] in ([], ["question"])


def test_who_looks_for_a_new_thing_tells_it(context):
    told(context, "we are looking for a flat in Graz with a garden")
    assert find(context.db, "what about the flat with a garden?").verdict == "known"


@pytest.mark.parametrize(
    ("told", "asked"),
    columns("""My blood type is B negative → whats my blodd type
        My locker at the pool is number 217 → wich loker do i have
        Ich bin gegen Penicillin allergisch, eine Allergie seit der Kindheit → alergie bei mir?"""),
)
def test_a_word_that_is_misspelt_finds_what_was_meant(context, told, asked):
    kept = note(context.db, told)
    for n in range(30):
        note(context.db, f"Parcel {n} is in the shed, behind the blue box")
    found = find(context.db, asked)
    assert (found.verdict, found.hits[0].handle) == ("maybe", kept)
    for _ in range(3):
        assert ask(context, asked, "I do not know that.")[:1] == [kept]


def test_a_typing_mistake_that_was_made_before_still_finds_the_note(context):
    kept = note(context.db, "The long ladder stands behind the shed")
    note(context.db, "buy milk and two loaves of bread")
    for _ in range(3):
        found = find(context.db, "wheres my lader")
        assert (found.verdict, found.hits[0].handle) == ("maybe", kept)  # a word is guessed, so it is not certain
        ask(context, "wheres my lader", "I do not know that.")


@for_each(
    ("asked", "said"),
    columns("""what car does John drive → Take good care of yourself, that is scary
        what cat does he have → It was great catching up, the education of both is good
        how high is the rent → My parents came, and apparently stayed
        which train did he take → They trail behind in the rain
        which plant is on the balcony → The planet and its moons were visible
        who gave me the order → We crossed the border, and it was disorderly
        what piece did she play → My niece sleeps at home
        what did she see at the coast → It costs a lot, and is most accostable
        Welches Rad ist das → Der Rat tagt, gerade kam ein Kamerad | Wo ist die Kirche → Die Kirschen sind reif
        Was kostet die Uhr → Der Fuhrpark steht leer, Aufruhr überall | Wem gehört der Hund → Hundert Gulden liegen da
        Wie heißt das Lied → Das Mitglied hat gelitten | Wo liegt das Eis → Die Reise war weise, das beweist er"""),
)
def test_a_word_of_the_language_is_no_misspelling_of_another(asked, said):
    with closing(empty()) as db:
        note(db, said)
        assert find(db, asked, meaning=EMBEDDED).hits == ()


@for_each(
    ("asked", "said"),
    columns("""whats my blodd type → My blood type is B negative
        when do i see the dentits → The dentist has time on Friday
        wheres my lader → The long ladder stands behind the shed
        wich loker do i have → My locker at the pool is number 217
        Wann ist der Termin → Zahnarzttermin am Freitag um drei | Wie heißt mein Arzt → Mein Hausarzt ist Dr. Gruber
        which system is it → We looked at ecosystems all day
        Wann ist ein Termin → Zwei Zahnarzttermine stehen noch aus
        Wo ist der Schlüssel → Die Autoschlüssel hängen im Flur | Wie heißen die Katzen → Unsere Katze heißt Mia
        Wie heißt der Hund → Unsere Hunde sind Rex und Bello | Wo ist die Kirche → Zwei Kirchen stehen im Dorf
        Wo steht mein Notbuk → Das Notebook steht im Büro"""),
)
def test_what_is_misspelt_and_part_of_a_longer_word_is_found_beside_an_embedder(asked, said):
    with closing(empty()) as db:
        kept = note(db, said)
        assert [hit.handle for hit in find(db, asked, meaning=EMBEDDED).hits] == [kept]


@for_each(
    ("asked", "telling"),
    columns("""what car does John drive → The backups are on the drive
        is the bike broken → Her bicycle has a flat tyre"""),
)
def test_what_neither_holds_a_word_nor_is_close_in_meaning_is_not_told_as_perhaps(asked, telling):
    with closing(empty()) as db:
        session = session_of(db)
        for number, words in enumerate(TALK):
            take_in(db, session, words, ("Nate", "Joanna")[number % 2])
        embed(db)
        found = find(db, asked, meaning=EMBEDDED)
        assert (found.verdict, [hit.text for hit in found.hits]) == ("maybe", [telling])


@pytest.mark.parametrize(
    "question",
    listed("""in which month did I move to Linz? | since when am I in Linz | wann bin ich nach Linz gezogen
        Linz, welches Jahr?"""),
)
def test_words_that_only_ask_need_not_be_in_the_answer(context, question):
    note(context.db, "moved to Linz in June 2025, gezogen mit Anna")
    assert find(context.db, question).verdict == "known"


def test_the_best_note_and_fact_have_a_place_among_many_messages(context):
    for number in range(20):
        told(context, f"The garden in number {number} has a gate, a garden gnome and a garden path")
    kept, fact = note(context.db, "garden gate: oil it"), learn(context, "My garden gate comes from the mill")
    recalled = ask(context, "What of the garden gnome and the garden gate?", "…")
    assert {kept, fact.handle} < set(recalled)


def test_hits_that_hardly_match_do_not_pass_beside_one_that_does(context):
    kept = note(context.db, "The spare key of the cellar hangs behind the picture of the lighthouse")
    told(context, "The picture was nice", "A key question of philosophy")
    assert ask(context, "Where hangs the spare key of the cellar, behind which picture of a lighthouse?", "…") == [kept]


@pytest.mark.parametrize("words", ["hello again", "thanks", "ok", "Hallo nochmal", "vielen Dank!"])
def test_nothing_is_recalled_for_small_talk(context, words):
    for each in ("hello", "hello there, again", "thanks for the fish", "Hallo nochmal Anna", "ok, I live in Graz"):
        told(context, each)
    assert ask(context, words, "Hello!") == []


@pytest.mark.parametrize(
    ("first", "then", "question", "answer"),
    [
        ("I live in Graz", "I moved to Linz", "Where do I live?", "You live in Graz."),
        ("I live in Graz", "I moved to Linz", "Where do I live?", "You live in Graz [f1]."),
        ("Ich wohne in Graz", "Ich bin nach Linz gezogen", "Wo wohne ich?", "Du wohnst in Graz [f1]."),
    ],
)
@pytest.mark.parametrize("recalled", [True, False], ids=["recalled", "in the conversation"])
def test_an_old_reply_sinks_below_the_newer_truth(context, first, then, question, answer, recalled):
    learn(context, first)
    ask(context, question, answer, recalled)
    newer = learn(context, then)
    found = find(context.db, question)
    assert newer.handle in [hit.handle for hit in found.hits[:2]]
    assert [hit.label for hit in found.hits if hit.text == answer] in ([], ["(no longer true since 2 January 2026)"])
    assert all(hit.text != answer for hit in found.hits[:2])
    assert ask(context, question, answer)[0] == newer.handle


def test_a_reply_whose_note_was_deleted_says_so_and_loses_its_rank(context):
    kept = notes.get(context.db, int(note(context.db, PASSPORT)[1:]), "person")
    answer = "It is in the blue folder, look into the attic [n1]."
    ask(context, "Where is my passport?", answer)
    catch_up(context.db)
    notes.hide(context.db, kept, noon)
    (hit,) = [each for each in find(context.db, "Is the passport in the blue folder?").hits if each.text == answer]
    assert hit.label == "(its source was deleted)"
    assert hit.legs["outdated"] < 0


@pytest.mark.parametrize("question", ["Where is my passport?", "passport where", "Which passport is in the attic?"])
def test_a_reply_that_rests_on_nothing_kept_stands_behind_what_was_noted(context, question):
    kept = note(context.db, PASSPORT)
    for _ in range(3):  # the last two are given the first, which supports them no more than nothing does
        ask(context, "Where is my passport?", "Your passport is in the kitchen drawer.")
    assert ask(context, question, "I do not know that.")[0] == kept


@pytest.mark.parametrize(
    ("said", "question", "answer"),
    columns("""Lukas verträgt keine Laktose → Darf Lukas Laktose essen? → Lukas verträgt kein Gluten.
        Mein Bruder heißt Lukas → name von meinem bruder → Dein Bruder heißt Stefan."""),
)
def test_a_reply_that_says_something_else_than_what_it_was_given_stands_behind_it(context, said, question, answer):
    told(context, said, "I bought a green bicycle", "Dinner was pasta with basil", "The train was late")
    ask(context, question, answer)
    assert find(context.db, question).hits[0].text == said


def test_a_reply_is_found_before_what_is_noted_where_the_person_asks_for_it(context):
    note(context.db, PASSPORT)
    ask(context, "Where do people keep a passport?", "Most people keep a passport in a drawer.")
    found = find(context.db, "What did you say about people who keep a passport?")
    assert found.hits[0].text == "Most people keep a passport in a drawer."


def test_a_summary_of_small_talk_tells_nothing(db):
    for said, words in (("Hello, 3 May 2020", "Good to hear."), ("Hello", "Anna showed the garden.")):
        session = session_of(db)
        say(db, session, said)
        summarise(db, session, words)
    found = {hit.text: hit.empty for hit in find(db, "good to hear of the garden").hits if hit.kind == "summary"}
    assert found == {"Good to hear.\n3 May 2020": "small talk", "Anna showed the garden.": ""}


def test_a_word_that_only_replies_hold_is_looked_for_within_longer_words(context):
    kept = note(context.db, "Garagentor: Code 7730, danach die Raute drücken")
    for n in range(3):
        ask(context, f"Was ist Ding {n}?", "Man stellt es am besten in die Garage, dort ist es kühl.")
        ask(context, f"wie geht das Garagentor {n} mal auf?", "Das weiß ich leider nicht.")
    assert find(context.db, "wie komm ich in die garage").hits[0].handle == kept
