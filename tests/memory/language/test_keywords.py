from time import process_time

from hypothesis import given
from hypothesis import strategies as some

from agent_cli.memory.language import keywords
from tests.tables import for_each


@for_each(
    ("said", "lifted"),
    [
        ("Put the NAS on 192.168.1.20, please.", ["Put the NAS on 192.168.1.20"]),
        ("The config is /etc/nginx/nginx.conf or ~/.config/x.", ["config is /etc/nginx/nginx.conf or ~/.config/x"]),
        ("Run `git rebase -i HEAD~3` first.", ["Run `git rebase -i HEAD~3`"]),
        ("See https://example.org/a?b=1.", ["See https://example.org/a?b=1"]),
        ("Write to ann.b@example.org!", ["Write to ann.b@example.org"]),
        ("We meet on 3 May 2026 at 15:30.", ["meet on 3 May 2026 at 15:30"]),
        ("Am 3. März um 8:15 Uhr.", ["3. März um 8:15 Uhr"]),
        ("It costs 42 EUR or €1,200.50.", ["costs 42 EUR or €1,200.50"]),
        ("Due 2026-11-20 and again 2026-11-20.", ["Due 2026-11-20 and again 2026-11-20"]),
        ("He weighs 82 kg, 5 % more.", ["weighs 82 kg"]),
        ("I have 2 cats and 3 of them sleep.", ["I have 2 cats"]),
        ("Leaves at 07:45 from Graz, 20 with 3 bags.", ["Leaves at 07:45", "20 with 3 bags"]),
        ("Call 0664 1234567 or +43 316 12 34 56.", ["Call 0664 1234567 or +43 316 12 34 56"]),
        ("Flight LH1234, invoice INV-2026-0042, plan B.", ["Flight LH1234", "invoice INV-2026-0042"]),
        ("The room costs 84 euros a night, in all 240.", ["room costs 84 euros"]),
        ("Small talk number 5 about the rain, 2024, 0 euros.", []),
        ("Undone; /undo and /skills show the rest.", []),
        ("Nothing to lift here, is there?", []),
    ],
)
def test_what_a_summary_would_lose_is_lifted_word_for_word(said, lifted):
    assert keywords.details(said) == lifted


@for_each("word", ["A", "a.b-", "+12-", "A12-a", "0123 12 ", "1.", "~/a"])
def test_a_word_without_an_end_holds_nobody_up(word):
    started = process_time()
    keywords.details(word * 30_000)
    assert process_time() - started < 1


@given(some.text())
def test_what_is_lifted_stands_in_the_text(said):
    assert all(each in said for each in keywords.details(said))


def test_where_there_is_little_room_the_newest_stay_in_their_order():
    said = ["The port is 8080.", "The path is /srv/data.", "The date is 2026-11-20."]
    assert keywords.newest_details(said, 100) == "port is 8080; path is /srv/data; date is 2026-11-20"
    assert keywords.newest_details(said, 40) == "path is /srv/data; date is 2026-11-20"
    assert keywords.newest_details(said, 100, "Port 8080 on 2026-11-20.") == "path is /srv/data"
    assert keywords.newest_details([], 25) == ""


@for_each(
    ("topic", "sentence", "about"),
    [
        ("Anna's birthday", "For the birthdays of Anna we bake a cake.", True),
        ("Anna's birthday", "Anna bakes a cake.", False),
        ("茶道", "昨日は茶道でした。", True),
        ("教室 茶道", "茶道の教室へ行った。", True),
        ("教室 茶道", "教室へ行った。", False),
        ("茶道 lesson", "茶道 was the first of two lessons.", True),
        ("茶道 lesson", "The lesson on knots was short.", False),
        ("?", "What is it?", True),
        ("", "What is it?", False),
    ],
)
def test_a_sentence_is_about_a_topic_when_it_has_all_its_words(topic, sentence, about):
    def stems(words):
        return [word.strip("'s.").casefold() for word in words.split()]

    assert keywords.topic_matcher(topic, stems)(sentence) is about
