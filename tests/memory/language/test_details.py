from time import process_time

from hypothesis import given
from hypothesis import strategies as some

from agent_cli.memory.language import details
from tests.tables import for_each


@for_each(
    ("said", "lifted"),
    [
        ("Put the NAS on 192.168.1.20, please.", ["192.168.1.20"]),
        ("The config is /etc/nginx/nginx.conf or ~/.config/x.", ["/etc/nginx/nginx.conf", "~/.config/x"]),
        ("Run `git rebase -i HEAD~3` first.", ["`git rebase -i HEAD~3`"]),
        ("See https://example.org/a?b=1.", ["https://example.org/a?b=1"]),
        ("Write to ann.b@example.org!", ["ann.b@example.org"]),
        ("We meet on 3 May 2026 at 15:30.", ["3 May 2026", "15:30"]),
        ("Am 3. März um 8:15 Uhr.", ["3. März", "8:15 Uhr"]),
        ("It costs 42 EUR or €1,200.50.", ["42 EUR", "€1,200.50"]),
        ("Due 2026-11-20 and again 2026-11-20.", ["2026-11-20"]),
        ("He weighs 82 kg, 5 % more.", ["82 kg", "5 %"]),
        ("I have 2 cats and 3 of them sleep.", ["2 cats"]),
        ("Leaves at 07:45 from Graz, 20 with 3 bags.", ["07:45", "3 bags"]),
        ("Call 0664 1234567 or +43 316 12 34 56.", ["0664 1234567", "+43 316 12 34 56"]),
        ("Flight LH1234, invoice INV-2026-0042, plan B.", ["LH1234", "INV-2026-0042"]),
        ("Nothing to lift here, is there?", []),
    ],
)
def test_what_a_summary_would_lose_is_lifted_word_for_word(said, lifted):
    assert details.extract(said) == lifted


@for_each("word", ["A", "a.b-", "+12-", "A12-a", "0123 12 ", "1.", "~/a"])
def test_a_word_without_an_end_holds_nobody_up(word):
    started = process_time()
    details.extract(word * 30_000)
    assert process_time() - started < 1


@given(some.text())
def test_what_is_lifted_stands_in_the_text(said):
    assert all(each in said for each in details.extract(said))


def test_where_there_is_little_room_the_newest_stay_in_their_order():
    said = ["The port is 8080.", "The path is /srv/data.", "The date is 2026-11-20."]

    assert details.newest(said, 100) == "8080; /srv/data; 2026-11-20"
    assert details.newest(said, 25) == "/srv/data; 2026-11-20"
    assert details.newest([], 25) == ""
