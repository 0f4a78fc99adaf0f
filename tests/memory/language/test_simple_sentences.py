"""Of the simple sentences that people type about themselves and others, the graph has nearly all; of others none."""

from agent_cli.memory.language import triples
from tests.tables import columns, listed

SIMPLE = columns("""
    My sister Clara owns the greenhouse → Clara → owns → greenhouse | My cat Mia is a Siamese → Mia → is_a → Siamese
    My daughter Lena goes to the Kepler school → Lena → goes_to → Kepler school
    Bruno is a beagle → Bruno → is_a → beagle
    Dr. Huber has his practice in Linz → Dr. Huber → place_of_practice → Linz
    My brother Tom lives in Vienna → Tom → lives_in → Vienna
    My wife Anna works at Siemens → Anna → works_at → Siemens | My son Paul plays the violin → Paul → plays → violin
    My friend Martin is a carpenter → Martin → is_a → carpenter
    My neighbour Mrs. Gruber has a tortoise → Mrs. Gruber → has → tortoise
    My boss is Karin Wolf → person → boss → Karin Wolf | My mother is called Helga → person → mother → Helga
    My grandmother Rosa was born in Trieste → Rosa → born_in → Trieste
    My uncle Fritz is 74 years old → Fritz → age → 74
    Our dog Bello is allergic to chicken → Bello → allergic_to → chicken | My dog's name is Rex → person → dog → Rex
    Clara's husband is Peter → Clara → husband → Peter | Clara's husband is called Peter → Clara → husband → Peter
    Peter is Clara's husband → Clara → husband → Peter | Anna is married to Tom → Anna → married_to → Tom
    Tom was born on 3 May 1980 → Tom → born_on → 3 May 1980
    My cousin Julia studies at the TU Graz → Julia → studies_at → TU Graz
    My nephew Max likes dinosaurs → Max → likes → dinosaurs
    My niece Nora hates broccoli → Nora → dislikes → broccoli
    Anna's phone number is 0664 1234567 → Anna → phone → 0664 1234567
    Anna's favourite colour is green → Anna → prefers.color → green | Anna's car is a Skoda → Anna → car → Skoda
    Karin runs a bakery in Steyr → Karin → runs → bakery in Steyr
    Karin leads the sales team → Karin → leads → sales team | Tom teaches physics → Tom → teaches → physics
    Tom supports Rapid Wien → Tom → supports → Rapid Wien | Ivan comes from Peru → Ivan → comes_from → Peru
    Ivan is from Peru → Ivan → comes_from → Peru | Ivan speaks Spanish → Ivan → speaks → Spanish
    Vienna is the capital of Austria → Vienna → capital_of → Austria
    Karin is the head of sales → Karin → head_of → sales
    The greenhouse belongs to Clara → Clara → owns → greenhouse
    The piano belongs to my aunt Gerda → Gerda → owns → piano | I am a nurse → person → is_a → nurse
    I work as a gardener → person → works_as → gardener | I live in Graz → person → lives_in → Graz
    I drive a red Polo → person → drives → red Polo | I use Arch Linux → person → uses → Arch Linux
    I play the piano → person → plays → piano | I collect stamps → person → collects → stamps
    I go to the Aikido club Linz → person → goes_to → Aikido club Linz
    My office is in Wels → person → place_of_office → Wels | My bike is called Rosinante → person → bike → Rosinante
    My dentist is Dr. Pichler → person → dentist → Dr. Pichler | I was born in Salzburg → person → born_in → Salzburg
    Meine Schwester Clara besitzt das Gewächshaus → Clara → owns → Gewächshaus
    Meine Katze Mia ist eine Siamkatze → Mia → is_a → Siamkatze
    Meine Tochter Lena geht in die Keplerschule → Lena → goes_to → Keplerschule
    Bruno ist ein Beagle → Bruno → is_a → Beagle
    Dr. Huber hat seine Praxis in Linz → Dr. Huber → place_of_practice → Linz
    Mein Bruder Tom wohnt in Wien → Tom → lives_in → Wien
    Meine Frau Anna arbeitet bei Siemens → Anna → works_at → Siemens
    Mein Sohn Paul spielt Geige → Paul → plays → Geige | Mein Freund Martin ist Tischler → Martin → is_a → Tischler
    Meine Nachbarin Frau Gruber hat eine Schildkröte → Frau Gruber → has → Schildkröte
    Meine Chefin heißt Karin Wolf → person → boss → Karin Wolf | Meine Mutter heißt Helga → person → mother → Helga
    Meine Oma Rosa ist in Triest geboren → Rosa → born_in → Triest
    Mein Onkel Fritz ist 74 Jahre alt → Fritz → age → 74
    Unser Hund Bello ist allergisch gegen Huhn → Bello → allergic_to → Huhn
    Mein Hund heißt Rex → person → dog → Rex | Claras Mann heißt Peter → Clara → husband → Peter
    Peter ist Claras Mann → Clara → husband → Peter | Peter ist der Mann von Clara → Clara → husband → Peter
    Anna ist mit Tom verheiratet → Anna → married_to → Tom
    Tom ist am 3. Mai 1980 geboren → Tom → born_on → 3. Mai 1980
    Meine Cousine Julia studiert an der TU Graz → Julia → studies_at → TU Graz
    Mein Neffe Max mag Dinosaurier → Max → likes → Dinosaurier
    Meine Nichte Nora hasst Brokkoli → Nora → dislikes → Brokkoli
    Annas Telefonnummer ist 0664 1234567 → Anna → phone → 0664 1234567
    Annas Lieblingsfarbe ist Grün → Anna → prefers.color → Grün | Annas Auto ist ein Skoda → Anna → auto → Skoda
    Karin führt eine Bäckerei in Steyr → Karin → runs → Bäckerei in Steyr
    Karin leitet den Verkauf → Karin → leads → Verkauf | Tom unterrichtet Physik → Tom → teaches → Physik
    Ivan kommt aus Peru → Ivan → comes_from → Peru | Ivan spricht Spanisch → Ivan → speaks → Spanisch
    Wien ist die Hauptstadt von Österreich → Wien → hauptstadt → Österreich
    Das Gewächshaus gehört Clara → Clara → owns → Gewächshaus
    Das Klavier gehört meiner Tante Gerda → Gerda → owns → Klavier | Ich bin Lehrerin → person → is_a → Lehrerin
    Ich arbeite als Gärtner → person → works_as → Gärtner | Ich lebe in Graz → person → lives_in → Graz
    Ich fahre einen roten Polo → person → drives → roten Polo | Ich verwende Arch Linux → person → uses → Arch Linux
    Ich spiele Klavier → person → plays → Klavier | Ich sammle Briefmarken → person → collects → Briefmarken
    Ich gehe in den Aikidoverein Linz → person → goes_to → Aikidoverein Linz
    Mein Büro ist in Wels → person → place_of_office → Wels
    Mein Fahrrad heißt Rosinante → person → fahrrad → Rosinante
    Mein Zahnarzt ist Dr. Pichler → person → dentist → Dr. Pichler
    Ich bin in Salzburg geboren → person → born_in → Salzburg
    Meine Freundin Eva trägt eine Brille → Eva → wears → Brille
    Mein Cousin Jan trainiert die Jugend → Jan → trains → Jugend | Tom trinkt Hafermilch → Tom → drinks → Hafermilch
    """)
OTHERS = listed("""
    My sister Clara might own the greenhouse | My sister Clara does not own the greenhouse
    My sister Clara wants to own the greenhouse | Does my sister Clara own the greenhouse?
    My sister Clara owns the greenhouse and lives in Graz
    My sister Clara owns the greenhouse, but she lives in Graz | Bruno is a beagle, I think
    Bruno is perhaps a beagle | Bruno is not a beagle | Is Bruno a beagle?
    Bruno is a beagle because my brother has one | Bruno was a beagle. Rex is a poodle
    My daughter Lena will go to the Kepler school | My daughter Lena plans to go to the Kepler school
    If Lena goes to the Kepler school, I am glad | My brother Tom is going to move to Vienna
    My brother Tom is moving to Vienna | I am a bit tired | Tom plays with fire | Anna goes to Italy
    Meine Schwester Clara könnte das Gewächshaus besitzen | Meine Schwester Clara besitzt kein Gewächshaus
    Besitzt meine Schwester Clara das Gewächshaus? | Meine Schwester Clara besitzt das Gewächshaus und wohnt in Graz
    Bruno ist vielleicht ein Beagle | Bruno ist kein Beagle | Ist Bruno ein Beagle?
    Lena wird in die Keplerschule gehen | Mein Bruder Tom zieht nach Wien | Ich bin ein bisschen müde
    """)


def test_nearly_every_simple_sentence_has_its_place_in_the_graph():
    found = {sentence: triples.parse(sentence) for sentence, *_ in SIMPLE}
    missing = [sentence for sentence, triple in found.items() if triple is None]
    wrong = {
        sentence: each
        for sentence, *triple in SIMPLE
        if (each := found[sentence]) and [each.subject, each.predicate, each.object] != triple
    }
    assert (len(SIMPLE), wrong) == (100, {})
    assert len(missing) <= 5, missing


def test_what_is_not_sure_or_not_one_thing_has_no_place_in_the_graph():
    assert len(OTHERS) == 30
    assert {each: found for each in OTHERS if (found := triples.parse(each))} == {}
