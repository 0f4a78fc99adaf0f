"""What a message is, judged as a whole."""

import pytest

from agent_cli.memory.language import statements
from tests.tables import for_each, listed


@for_each(
    "words",
    listed("""hello again | Hello! | thanks | ok | Thanks a lot, bye! | good morning, how are you? | yes please
        Hallo nochmal | Vielen Dank! | Guten Morgen, wie geht's? | alles klar, danke | Servus | ja, gerne"""),
)
def test_greetings_and_thanks_are_small_talk(words):
    assert statements.is_small_talk(words)


@for_each(
    "words", ["hello world is my first program", "thanks to Anna I have a bicycle", "ok, I moved to Linz", "Danke Anna"]
)
def test_what_tells_something_beside_is_no_small_talk(words):
    assert not statements.is_small_talk(words)


@for_each(
    "words",
    listed("""Where is my passport? | do you know where I've put my passport | Hi! Any idea where my passport is?
        my blood type? | Could you look up where the passport lies, please? | Remind me when Anna comes
        Wo ist mein Reisepass? | Weißt du, wo mein Pass liegt? | In welcher Mappe liegt der Pass?
        trink ich noch kaffee | fahr ich am montag nach Graz | Riesling wie hieß der"""),
)
def test_a_question_tells_nothing(words):
    assert statements.emptiness(words, "user") == "question"
    assert statements.asks(words)


@for_each(
    "words",
    listed("""The passport lies in the attic. | I moved to Linz. Do you know a dentist? | I have no car.
        What can I cook for Anna, who is allergic to nuts? | Can you remember that I hate olives?
        Was koche ich für Anna, die keine Nüsse verträgt? | Ich weiß, wo der Pass liegt: im Keller.
        don't forget that I am vegetarian | Don't forget, my boat is red | don’t forget my thesis is due in May"""),
)
def test_a_statement_is_no_question_and_neither_is_one_with_a_question(words):
    assert statements.emptiness(words, "user") == ""


@for_each(
    "words",
    listed("""I do not know that. | Sorry, I don't have any information about your passport. | I'm not sure.
        I don't know where your passport is. If you tell me, I can remember it. Would you like that?
        You haven't told me your blood type yet. | I have no record of that. | I'm not sure, could you tell me?
        That's not known to me; no idea. | Das weiß ich leider nicht. | Dazu habe ich keine Informationen.
        Tut mir leid, das weiß ich nicht."""),
)
def test_a_reply_that_does_not_know_is_empty(words):
    assert statements.emptiness(words, "assistant") == "empty reply"


@for_each(
    "words",
    listed("""Your passport lies in the attic. | There is no train at 8. | I don't know [n1], it says the attic.
        I don't know the exact height, but it is about 4000 m. | Du hast am Freitag keinen Termin."""),
)
def test_a_reply_that_says_something_is_not_empty(words):
    assert statements.emptiness(words, "assistant") == ""


@pytest.mark.parametrize("words", ["climbing hall membership", "kessel druck bar", "car insurance"])
def test_a_few_plain_words_are_what_to_look_for(words):
    assert statements.emptiness(words, "user") == "question"


@for_each(
    "words",
    listed("""oranges: two kilos | locker 217 pool | Anna Jonas Lukas | als ich in Graz wohnte, gab es keine Straßenbahn
        weil ich kein Auto habe | dass ich Nüsse mag"""),
)
def test_a_few_words_with_a_name_a_number_or_a_verb_may_tell_something(words):
    assert statements.emptiness(words, "user") == ""


@for_each(
    "reply",
    listed("""Noted. | Good to know. | Got it, I'll remember that. | Thanks for telling me! | I've noted that.
        Danke für die Info! | Notiert. | Gut zu wissen. | Alles klar, das merke ich mir."""),
)
def test_a_reply_that_only_thanks_is_small_talk(reply):
    assert statements.emptiness(reply, "assistant") == "small talk"


def test_a_person_who_does_not_know_something_says_so_of_themselves():
    assert statements.emptiness("I don't know how to swim", "user") == ""


@for_each("question", ["Where do I live?", "what's my name", "Wo wohne ich?", "mein Zahnarzt", "tell us"])
def test_a_question_in_the_first_person_is_about_the_person(question):
    assert statements.is_in_first_person(question)


@pytest.mark.parametrize("question", ["Where does Anna live?", "When did Bob move to the US?", "Wo wohnt Anna?"])
def test_a_question_about_others_is_not(question):
    assert not statements.is_in_first_person(question)


@for_each(
    ("message", "stated"),
    [
        ("i fly on friday, where is my passport?", "i fly on friday,"),
        ("I'm at the cafe, what do I order for my wife", "I'm at the cafe,"),
        ("das kind hat fieber, wen ruf ich an", "das kind hat fieber,"),
        ("Anna is allergic to nuts, what can I cook?", "Anna is allergic to nuts,"),
        ("Was koche ich für Anna, die keine Nüsse verträgt?", "die keine Nüsse verträgt?"),
        ("What can I cook for Anna, who is allergic to nuts?", "who is allergic to nuts?"),
        ("I moved to Linz. Do you know a dentist?", "I moved to Linz."),
        ("Can you remember that I hate olives?", None),
        ("my locker at the pool, which one was it", ""),
        ("Lukas und Laktose, wie war das", ""),
        ("the garage wants to know the make of my car", ""),
        ("Ich weiß, wo der Pass liegt: im Keller.", None),
        ("I put it where the passport is", None),
        ("bin gegen Nüsse allergisch", None),
    ],
)
def test_beside_a_question_only_what_its_other_clauses_say_is_told(message, stated):
    assert statements.stated_beside(message) == stated
    assert statements.only_asks(message) == (stated == "")


def test_a_message_that_holds_what_is_looked_for_only_where_it_asks_is_a_question():
    message = "I fly on Friday, where is my passport?"
    assert statements.emptiness(message, "user", ["passport", "attic"]) == "question"
    assert statements.emptiness(message, "user", ["fly"]) == ""
    assert statements.emptiness(message, "user") == ""


@for_each(
    "words",
    listed("""What is my sister's name? | whats my blood type? | When did I last see the dentist? | my locker number?
        What did Anna say about the trip? | what did anna say about the trip? | where does Caroline live?
        where does caroline live | Do you remember the name of the café? | Did I tell you when I fly?
        Have I ever been to Rome? | How many times have we met? | What car does John drive? | What cat does he have?
        Where does she work? | What is her dog called? | When is Anna's birthday? | How old is Oliver?
        Who is Katarzyna? | What do you know about me? | Remind me when my flight leaves | Where is my passport?
        I can't remember where my passport is | Can you tell me where I parked? | Could you remind me what I ordered?
        Which book did Nate recommend to Joanna? | What did you recommend for the first phase? | Am I vegetarian?
        What is Joanna allergic to? | Has Maria adopted a second dog? | Why did we choose Graz? | Where do I work?
        Hi! When does our train leave? | I moved to Linz. When was that again, and did I tell you the street?
        What was discussed in the workshop? | According to Gina, what makes a good guide? | Who are my neighbours?
        How much did I pay for the bike? | Is Jon looking for a studio? | What is the name of Maria's puppy?
        Wie heißt meine Schwester? | Was habe ich gestern gemacht? | Wo ist mein Reisepass? | Wo wohnt Anna?
        Wann war ich zuletzt beim Zahnarzt? | Was hat Anna über die Reise gesagt? | Weißt du noch, wie der Wirt hieß?
        Erinnerst du dich an das Lokal in Linz? | Welches Auto fährt Johannes? | Was isst Eva gern? | Wie alt ist Max?
        Kannst du mir sagen, wo mein Auto steht? | Hab ich dir gesagt, wann ich fliege? | Was weißt du über mich?
        Wer ist Katharina? | Was war nochmal unser Treffpunkt? | Wann hat sie Geburtstag? | Wie heißt sein Hund?
        Bin ich gegen Nüsse allergisch? | trink ich noch Kaffee | Wie viel hat mein Fahrrad gekostet?
        Was hast du mir gestern empfohlen? | Wo arbeitet er? | Wann fahren wir nach Graz?
        Erinnere mich, wo ich parke | Welche Sprache lerne ich? | Hat Eva Katzen? | Mein Kennzeichen?
        Wann war Anna in Rom?"""),
)
def test_a_question_asks_what_was_told(words):
    assert statements.asks_what_was_told(words)


@for_each(
    "words",
    listed("""Write a poem about autumn | Recipe for apple strudel | What is the weather in Graz? | Thanks, that helps
        How many grams are in an ounce? | Can you suggest a dinner? | Explain my code | Draft a mail to my landlord
        Translate this into German | What shall I cook tonight? | How far is it to Vienna? | Help me with my essay
        What should I wear to the wedding? | How do I boil an egg? | Could you fix the bug in my script? | Why?
        What are some good films for my evening? | Any tips for my garden? | Is there a faster way to sort a list?
        What's your advice for a first marathon? | Tell me a joke | Give me an idea for my birthday | What is Python?
        How does photosynthesis work? | What is the capital of Bhutan? | I am vegetarian | My sister is called Eva
        How can I find the area of a triangle? | I'm planning a trip to Japan. What restaurants would you recommend?
        What does HTTP mean? | Would you check my letter? | What could we give her for her birthday?
        Which airport should I use for London? | Are there any museums near the station? | Show me how to tie a tie
        Schreib ein Gedicht über den Herbst | Rezept für Apfelstrudel | Wie ist das Wetter in Graz? | Danke dir
        Wie viel Gramm hat eine Unze? | Kannst du ein Abendessen vorschlagen? | Erklär mir meinen Code | Warum?
        Was soll ich heute kochen? | Wie weit ist es nach Wien? | Übersetze das ins Englische | Ich bin Vegetarier
        Wie kann ich besser schlafen? | Hilf mir bei meinem Aufsatz | Könntest du meinen Brief verbessern?
        Schreib meinem Vermieter eine Mail | Hast du Tipps für meinen Garten? | Was ist Photosynthese?
        Wie kocht man Reis? | Gibt es ein gutes Museum in Linz? | Was ist die Hauptstadt von Bhutan?
        Welchen Film soll ich mir ansehen? | Was empfiehlst du mir zum Geburtstag? | Gib mir ein Beispiel
        Wie komme ich nach Wien? | Erzähl mir einen Witz | Sind Tomaten Früchte? | Was koche ich morgen?"""),
)
def test_a_task_and_general_knowledge_ask_nothing_that_was_told(words):
    assert not statements.asks_what_was_told(words)


ANSWER_WISHES = listed("""Answer me in German | Always use metric units. | Keep your answers short | short answers
    I prefer short and simple answers. | Please be brief. | Call me Max | from now on answer in French
    Never use emojis | No emojis please | I want you to explain things simply | I'd like your answers to be short
    I prefer metric units | You should be brief | Antworte auf Deutsch | Immer kurz antworten
    Ich möchte kurze Antworten | Nenn mich Max | Bitte keine Emojis | Verwende metrische Einheiten
    ab jetzt nur auf Englisch antworten | I want everything in German | I would rather have short replies
    I hate emojis | Ich will keine Emojis | Meine Antworten sollen kurz sein""")
NO_ANSWER_WISHES = listed("""I always take an umbrella | I use vim | I keep bees | My landlord answers late
    I like to be on time | I want a new car | We use tabs | Ich mag kurze Filme | Ich will ein Haus kaufen
    Start of my new job is 1 May
    I need to get an answer from my landlord by Friday | Use the blue bin on Mondays | Never put nuts in my food
    Be careful: I am allergic to penicillin | Listen to Bach every evening | Halte zwei Hühner im Garten""")


@for_each("words", ANSWER_WISHES)
def test_how_somebody_wants_to_be_answered_is_a_wish(words):
    assert statements.says_how_to_answer(words)


@for_each("words", NO_ANSWER_WISHES)
def test_what_somebody_does_or_likes_is_no_wish_about_the_answers(words):
    assert not statements.says_how_to_answer(words)


@for_each(
    ("words", "told"),
    [
        ("I strictly follow a vegan diet. The bus was late.", ["I strictly follow a vegan diet."]),
        ("I dislike wallpaper in any form.", ["I dislike wallpaper in any form."]),
        ("I get extremely anxious in crowded airports.", ["I get extremely anxious in crowded airports."]),
        ("Ich vertrage keine Laktose. Danke!", ["Ich vertrage keine Laktose."]),
        ("Ich höre am liebsten Jazz.", ["Ich höre am liebsten Jazz."]),
        ("Do I like tea?", []),
        ("The bus was late again.", []),
        ("Anna hates tea.", []),
    ],
)
def test_of_a_message_the_sentences_tell_a_preference_that_name_a_limit_or_a_liking_of_the_person(words, told):
    assert statements.preferences(words) == told


@for_each(
    ("words", "asks"),
    [
        ("Can you suggest a nice dinner?", True),
        ("What are some good books for the summer?", True),
        ("I'm looking for a new laptop.", True),
        ("Any ideas for a present?", True),
        ("Was soll ich heute kochen?", True),
        ("Welcher Film passt zu einem Regentag?", True),
        ("Hast du einen Buchtipp?", True),
        ("What is my sister's name?", False),
        ("How many grams are in an ounce?", False),
        ("Wie heißt meine Schwester?", False),
    ],
)
def test_who_asks_for_suggestions_asks_for_advice(words, asks):
    assert statements.asks_for_advice(words) is asks
