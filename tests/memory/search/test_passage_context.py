"""Words of a question are counted in a text as the word index has them."""

from collections import Counter

import pytest

from agent_cli.memory.search import passage_context
from agent_cli.memory.search.candidates import ParsedQuery

TEXTS = (
    "She runs; they were running, and the runner's run_time was re-run (RUN).",
    "Müllers Mühle: MÜLLER, Mu\u0308ller, Muller und der müllernde Rest.",
    "Straße, STRASSE, strasse und Straßen in 8010 Graz, 80101.",
    "café Café CAFE\u0301 “cafés” – caféhaus",
    "Я мой дом люблю, моя речь",
    "İstanbul ISTANBUL ıstanbul",
    "Relational relations related relate, a b c",
    "x" * 70 + " runs",
    "",
)


@pytest.mark.parametrize("question", ["running relations a", "Müller Straßen 8010", "café Istanbul", "мой дом", "b"])
def test_words_are_counted_as_the_word_index_has_them(db, question):
    stems = db.tokens(question)
    parsed = ParsedQuery({}, {}, dict.fromkeys(stems, 1.0))
    counted = {text: {stem: n for stem, n in Counter(db.tokens(text)).items() if stem in stems} for text in TEXTS}

    assert passage_context.count_words(db, TEXTS, parsed) == counted
    assert any(counted.values())


def test_characters_of_a_script_without_spaces_are_counted(db):
    parsed = ParsedQuery({}, {"東京": 1}, {"東京": 1.0})

    assert passage_context.count_words(db, ["東京と東京タワー", "大阪"], parsed) == {
        "東京と東京タワー": {"東京": 2},
        "大阪": {},
    }
