"""The embedded embedder: words are compared without a server."""

import threading

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


def test_without_words_nothing_is_matched():
    assert EmbeddedEmbedder().match_words([], []) == []
    assert EmbeddedEmbedder().match_words([], [[]]) == [[]]


def test_words_that_were_seen_before_are_matched_the_same():
    embedder = EmbeddedEmbedder()
    first = embedder.match_words(["bike"], [["bicycle"]])
    embedder.match_words(["boat"], [["harbour", "sea"]])
    assert embedder.match_words(["bike"], [["sea", "bicycle"]])[0] == pytest.approx(first[0], abs=1e-5)


def test_threads_that_match_at_once_give_each_word_its_own_vector():
    shared, start = EmbeddedEmbedder(), threading.Barrier(4)
    words = [[f"{thing}{number}" for number in range(200)] for thing in ("bike", "boat", "river", "garden")]

    def match(own):
        start.wait()
        for word in own:
            shared.match_words([], [[word]])

    threads = [threading.Thread(target=match, args=(own,)) for own in words]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    texts = [[word] for own in words for word in own]
    found, expected = (each.match_words(["bicycle"], texts) for each in (shared, EmbeddedEmbedder()))
    assert [one for (one,) in found] == pytest.approx([one for (one,) in expected], abs=1e-5)
