"""The embedded embedder: words are compared without a server."""

import pytest

from agent_cli.llm.embedded import EmbeddedEmbedder


def test_each_text_is_matched_by_its_nearest_word():
    matches = EmbeddedEmbedder().match_words(
        ["bike", "kids"], [["the", "bicycle", "broke"], [], ["children", "bike"], ["gravel"]]
    )
    assert [len(each) for each in matches] == [2, 2, 2, 2]
    assert matches[0][0] > 0.6 > matches[0][1]
    assert matches[1] == [0.0, 0.0]
    assert matches[2][0] == pytest.approx(1.0, abs=1e-5)
    assert matches[2][1] > 0.6
    assert max(matches[3]) < 0.35


def test_words_that_were_seen_before_are_matched_the_same():
    embedder = EmbeddedEmbedder()
    first = embedder.match_words(["bike"], [["bicycle"]])
    embedder.match_words(["boat"], [["harbour", "sea"]])
    assert embedder.match_words(["bike"], [["sea", "bicycle"]])[0] == pytest.approx(first[0], abs=1e-5)
