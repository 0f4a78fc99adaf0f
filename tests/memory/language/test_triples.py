"""A plain statement is taken apart by rules; what no rule knows is left whole."""

from hypothesis import given
from hypothesis import strategies as some

from agent_cli.memory.language import triples
from agent_cli.memory.language.triples import SINGLE_VALUED
from tests.tables import columns, for_each, listed


@for_each(
    ("statement", "subject", "predicate", "object"),
    columns("""
        i live in graz → person → lives_in → graz | I moved to Linz. → person → lives_in → Linz
        I moved to Linz in June 2026 → person → lives_in → Linz
        On 20 November 2026 I moved to Linz → person → lives_in → Linz
        I moved from Graz to Linz → person → lives_in → Linz
        I am living in the Netherlands → person → lives_in → Netherlands
        I'm now living in New York → person → lives_in → New York
        I now live in Linz since 2024 → person → lives_in → Linz | We moved to Linz → person → lives_in → Linz
        The person lives in Graz → person → lives_in → Graz | The user moved to Linz → person → lives_in → Linz
        Ich wohne in Graz → person → lives_in → Graz | ich wohne jetzt in Linz → person → lives_in → Linz
        Ich bin nach Linz gezogen → person → lives_in → Linz
        Ich bin am 20. November 2026 nach Linz gezogen → person → lives_in → Linz
        Seit 2020 wohne ich in Graz → person → lives_in → Graz
        Die Person wohnt in der Schweiz → person → lives_in → Schweiz
        Anna Huber wohnt in Wien → Anna Huber → lives_in → Wien | I work at Siemens → person → works_at → Siemens
        I started at Siemens on 3 May 2026 → person → works_at → Siemens
        I've started working for Red Hat → person → works_at → Red Hat
        Ich arbeite bei der Post → person → works_at → Post
        Ich arbeite jetzt bei Siemens → person → works_at → Siemens
        Ich habe bei Siemens angefangen → person → works_at → Siemens
        Tom works for Siemens → Tom → works_at → Siemens | My name is Jane Doe → person → name → Jane Doe
        Call me Ishmael → person → name → Ishmael | Ich heiße Johanna → person → name → Johanna
        My email is jane@example.org → person → email → jane@example.org
        Meine E-Mail-Adresse lautet jane@example.org → person → email → jane@example.org
        My phone number is +43 664 1234567 → person → phone → +43 664 1234567
        Meine Handynummer ist 0664/1234567 → person → phone → 0664/1234567
        My birthday is on 3 May → person → birthday → 3 May
        Mein Geburtstag ist am 3. Mai → person → birthday → 3. Mai | I was born in 1980 → person → born_on → 1980
        I am 42 years old → person → age → 42 | Ich bin 42 → person → age → 42
        My wife is Anna → person → wife → Anna | Anna is my sister → person → sister → Anna
        Anna ist meine Schwester → person → sister → Anna
        My dentist is now Dr. Huber → person → dentist → Dr. Huber
        Mein Hausarzt ist jetzt Dr. Pichler → person → doctor → Dr. Pichler
        I prefer vim as my editor → person → prefers.editor → vim
        My favourite editor is vim → person → prefers.editor → vim
        Mein Lieblingseditor ist vim → person → prefers.editor → vim
        Meine Lieblingsfarbe ist Blau → person → prefers.color → Blau
        The user prefers fish as their shell → person → prefers.shell → fish
        I prefer dark mode → person → prefers → dark mode | I am allergic to walnuts → person → allergic_to → walnuts
        The person is allergic to walnuts → person → allergic_to → walnuts
        I have two cats → person → has → two cats | My car is a Skoda → person → car → Skoda
        My license plate is G-123 AB → person → license_plate → G-123 AB | My editor is vim → person → editor → vim
        The NAS answers at 192.168.1.12 → NAS → answers_at → 192.168.1.12
        The old printer answers at 10.0.0.7 → old printer → answers_at → 10.0.0.7
        Anna's birthday is 3 May → Anna → birthday → 3 May"""),
)
def test_a_statement_is_taken_apart(statement, subject, predicate, object):
    found = triples.parse(statement)
    assert found is not None
    assert (found.subject, found.predicate, found.object) == (subject, predicate, object)


@for_each(
    "statement",
    [
        *("", "   ", "x" * 5000),
        *listed("""
        I no longer live in Graz | I don't live in Graz | I do not live in Graz any more | I never lived in Graz
        Ich wohne nicht in Graz | Ich wohne nicht mehr in Graz | I used to live in Graz | I lived in Graz
        I worked at Siemens | Do I live in Graz? | I would like to live in Graz | I might move to Linz
        I want to live in Graz | Perhaps I live in Graz | If I live in Graz, I ski | I live in a small flat
        I live in fear | Ich wohne in einer Wohnung | Ich wohne in der Stadt | I live in Graz and work at Siemens
        I live in Graz. I work at Siemens | I work from home | I work at night | I work for a bank
        I work as a nurse at the LKH | My car is broken | My wife is ill | My wife is Austrian | My wife is a nurse
        Meine Frau ist Ärztin | My back hurts | My flight is delayed | She lives in Graz | He is my brother
        It answers at 192.168.1.12 | Dinner is at eight | I like it | I like to swim | I have a meeting at three
        I have to go | I have been to Rome | Call me tomorrow | The weather is fine | I don't like tea
        Ich mag keinen Tee | I am not allergic to walnuts | The boat was sold | Remember the milk | Graz | I | My
        I moved in with Anna | I moved the car | Nobody lives in Graz | I am tired | I am Austrian"""),
    ],
)
def test_a_statement_that_is_not_plain_is_left_whole(statement):
    assert triples.parse(statement) is None


def test_what_has_one_value_at_a_time_is_told_by_the_same_predicate_however_it_is_said():
    said = ("I live in Graz", "I moved to Linz", "Ich bin nach Wien gezogen", "Ich wohne in Bruck")
    assert {triples.parse(each).predicate for each in said} == {"lives_in"} <= SINGLE_VALUED


_PIECES = """I my is live lives in moved to the a at works as not Anna Graz sister prefer vim born on 3 May 1980 ich
    mein heißt wohne und . , ? ' 's since 2020 answers 192.168.1.12 years old"""
_WORDS = some.sampled_from(_PIECES.split())


@given(some.text() | some.lists(_WORDS).map(" ".join))
def test_any_text_is_safe(statement):
    found = triples.parse(statement)
    assert found is None or all((found.subject, found.predicate, found.object))
