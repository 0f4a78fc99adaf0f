"""Learns the weights of recall (memory/search/ranking.py) from conversations whose questions name their evidence, and
those of its verdict (ranking.py) from the same questions and others that their conversations do not answer.

A softmax over the candidates of a question: the weights make each message that holds evidence likelier than all that do
not, by gradient descent on the logarithm of its share, with a penalty on large weights. Folders count alike, however
many questions they have. The verdict is a logistic regression on the passage that most certainly answers, whatever the
weights make that: they are learned anew, some rounds long, on the passages that the last ones chose. What is printed is
measured on conversations that were left out while learning.
"""

import argparse
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agent_cli.llm.embedded import EmbeddedEmbedder
from agent_cli.llm.engine import ServerEmbedder
from agent_cli.llm.ollama import OllamaEngine
from agent_cli.memory.scope import PERSON
from agent_cli.memory.search import ranking, recall, vectors
from agent_cli.memory.search.candidates import Filter, Request
from benchmarks.recall import Changed, lines, opened
from benchmarks.world import NOW

FOLDS = 4  # parts of the conversations, each left out once
STEPS, RATE = 400, 0.1  # of the descent (Adam)
PENALTY = 0.5  # on the squares of the weights
AT = (5, 10)
SIGNS = [name for name in ranking.CONTEXTUAL_VERDICT if name != "bias"]
ROUNDS, ROUND_STEPS, ROUND_RATE, SHRINKING = 12, 400, 1.5, 0.002
MOST = 1000  # more than there are candidates: all of them are looked at closely


class Contextual(ServerEmbedder):
    """A served model, and beside it the words of the built-in table, as the program has them."""

    match_words = EmbeddedEmbedder().match_words


@dataclass(frozen=True)
class Example:
    """A question: the features of its candidates (candidates × features), and which of them are evidence."""

    folder: str
    conversation: str
    features: np.ndarray
    evidence: np.ndarray
    named: int  # messages that are evidence, found or not


@dataclass(frozen=True)
class Judged:
    """A question: the signs of the passages that tell something (passages × signs), and whether one answers it."""

    folder: str
    conversation: str
    signs: np.ndarray
    answered: bool


def run(options: Sequence[str]) -> bool:
    """Print the weights learned and what they find; True."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks learn_weights")
    parser.add_argument("--data", type=Path, action="append", required=True, help="a folder as for recall --data")
    parser.add_argument("--ablate", action="store_true", help="also without each feature")
    parser.add_argument("--model", help="a contextual embedder of the server at --host, in place of the built-in one")
    parser.add_argument("--host", default="127.0.0.1:11434", help="of Ollama")
    given = parser.parse_args(options)
    embedder = Contextual(OllamaEngine(given.host), given.model) if given.model else EmbeddedEmbedder()
    examples = [example for folder in given.data for example in _examples(folder, embedder)]
    names = list(ranking.WEIGHTS)
    print("left out while learning:")
    _print_shares("all", _held_out(examples, range(len(names))))
    for name in names if given.ablate else ():
        _print_shares(f"without {name}", _held_out(examples, [n for n, other in enumerate(names) if other != name]))
    learned = _learn(examples, range(len(names)))
    print("learned from all:")
    for name, weight in zip(names, learned, strict=True):
        print(f'    "{name}": {weight:.2f},')
    judged = [each for folder in given.data for each in _judged(folder, embedder)]
    print("verdicts known, left out while learning:")
    for (folder, answered), share in _known_held_out(judged).items():
        print(f"  {folder:<24} {'answered' if answered else 'not answered':<14} {100 * share:.1f} %")
    *weights, bias = _learn_verdict(judged)
    told = ", ".join(f'"{name}": {weight:.2f}' for name, weight in zip(SIGNS, weights, strict=True))
    print(f"learned from all: {told}; bias {bias:.2f}")
    return True


def _examples(folder: Path, embedder: Contextual | EmbeddedEmbedder) -> Iterator[Example]:
    names, weights = list(ranking.WEIGHTS), ranking.CONTEXTUAL if embedder.scale()[1] else ranking.WEIGHTS
    for path in sorted(folder.glob("*.sessions.jsonl")):
        name = path.name.removesuffix(".sessions.jsonl")
        for with_facts in (False, True) if lines(folder, name, "facts") else (False,):
            db = opened(folder, name, embedder, with_facts)
            for line in lines(folder, name, "questions"):
                asked = json.loads(line)
                with Changed({ranking: {"CLOSELY": MOST}}):
                    hits = recall.find(db, asked["question"], Filter(PERSON, ("message",)), NOW, MOST, embedder).hits
                features = [[hit.legs.get(each, 0.0) / weights[each] for each in names] for hit in hits]
                evidence = np.array([hit.external_id in asked["evidence"] for hit in hits], bool)
                kind = f"{folder.name}{' with facts' if with_facts else ''}"
                shaped = np.array(features, float).reshape(len(hits), len(names))
                yield Example(kind, name, shaped, evidence, len(asked["evidence"]))
            db.close()


def _judged(folder: Path, embedder: Contextual | EmbeddedEmbedder) -> Iterator[Judged]:
    for path in sorted(folder.glob("*.sessions.jsonl")):
        name = path.name.removesuffix(".sessions.jsonl")
        db = opened(folder, name, embedder, with_facts=False)
        for kind in ("questions", "strangers"):
            for line in lines(folder, name, kind):
                asked = json.loads(line)["question"]
                vector = embedder.embed_query(asked)
                allowed, vector_set = Filter(PERSON, ("message",)), vectors.current(db)
                request = Request(db, asked, allowed, NOW, embedder, vector, vector_set)
                signs = [each.signs for each in ranking.telling(asked, recall.run(request)) if each.signs]
                table = np.array([[of[sign] for sign in SIGNS] for of in signs], float).reshape(len(signs), len(SIGNS))
                yield Judged(folder.name, name, table, kind == "questions")
        db.close()


def _learn_verdict(judged: Sequence[Judged]) -> np.ndarray:
    """A weight for each sign, and the bias. In each folder both kinds of questions count alike."""
    usable = [each for each in judged if len(each.signs)]
    counts = Counter((each.folder, each.answered) for each in usable)
    answered = np.array([each.answered for each in usable], float)
    shares = np.array([1 / counts[each.folder, each.answered] for each in usable]) / len(counts)
    found = np.ones(len(SIGNS) + 1)
    for _ in range(ROUNDS):
        best = np.array([each.signs[np.argmax(each.signs @ found[:-1])] for each in usable])
        best = np.hstack([best, np.ones((len(best), 1))])
        for _ in range(ROUND_STEPS):
            likely = 1 / (1 + np.exp(-best @ found))
            shrunk = SHRINKING * np.append(found[:-1], 0)
            found = found - ROUND_RATE * (best.T @ (shares * (likely - answered)) + shrunk)
    return found


def _known_held_out(judged: Sequence[Judged]) -> Mapping[tuple[str, bool], float]:
    """Per folder and kind of question, the share that is known by weights learned without the conversation."""
    fold = _folds((each.folder, each.conversation) for each in judged)
    known: dict[tuple[str, bool], list[bool]] = {}
    for part in range(FOLDS):
        found = _learn_verdict([each for each in judged if fold[each.conversation] != part])
        for each in judged:
            if fold[each.conversation] == part:
                certainty = max(each.signs @ found[:-1] + found[-1], default=-math.inf)
                known.setdefault((each.folder, each.answered), []).append(certainty >= ranking.KNOWN)
    return {key: float(np.mean(values)) for key, values in known.items()}


def _learn(examples: Sequence[Example], used: Sequence[int]) -> np.ndarray:
    """A weight for each feature used."""
    usable = [each for each in examples if 0 < each.evidence.sum() < len(each.evidence)]
    counts = Counter(each.folder for each in usable)
    shares = np.array([len(usable) / len(counts) / counts[each.folder] for each in usable])
    features = np.concatenate([each.features[:, used] for each in usable])
    evidence = np.concatenate([each.evidence for each in usable])
    sizes = [len(each.evidence) for each in usable]
    weights, mean, square = np.zeros(len(used)), np.zeros(len(used)), np.zeros(len(used))
    for step in range(1, STEPS + 1):
        gradient = 2 * PENALTY * weights + _gradient(features, evidence, sizes, shares, weights)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        weights = weights - RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return weights


def _gradient(
    features: np.ndarray,
    evidence: np.ndarray,
    sizes: Sequence[int],
    shares: np.ndarray,
    weights: np.ndarray,
) -> np.ndarray:
    """Of the sum, over questions, of the mean of -log of the share of each evidence beside all that is none.

    The candidates of all questions stand one after the other; `sizes`: how many each question has.
    """
    starts = np.cumsum([0, *sizes])[:-1]
    scores = features @ weights
    likely = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), sizes))
    others = np.repeat(np.add.reduceat(np.where(evidence, 0.0, likely), starts), sizes)
    inverse = np.where(evidence, 1 / (likely + others), 0.0)
    of_others = likely * np.repeat(np.add.reduceat(inverse, starts), sizes)
    share = np.repeat(shares / np.add.reduceat(evidence, starts), sizes)
    found: np.ndarray = features.T @ (share * np.where(evidence, likely * inverse - 1, of_others))
    return found


def _held_out(examples: Sequence[Example], used: Sequence[int]) -> Mapping[tuple[str, int], float]:
    """Per folder and number of hits, the mean share of evidence found by weights learned without the conversation."""
    fold = _folds((each.folder.partition(" ")[0], each.conversation) for each in examples)
    shares: dict[tuple[str, int], list[float]] = {}
    for part in range(FOLDS):
        weights = _learn([each for each in examples if fold[each.conversation] != part], used)
        for each in examples:
            if fold[each.conversation] == part:
                best = np.argsort(-(each.features[:, used] @ weights), kind="stable")
                for at in AT:
                    shares.setdefault((each.folder, at), []).append(each.evidence[best[:at]].sum() / each.named)
    return {key: float(np.mean(found)) for key, found in shares.items()}


def _folds(conversations: Iterable[tuple[str, str]]) -> dict[str, int]:
    """The part of each conversation, given with its folder: those of a folder are spread over all parts."""
    return {name: number % FOLDS for number, (_, name) in enumerate(sorted(set(conversations)))}


def _print_shares(what: str, shares: Mapping[tuple[str, int], float]) -> None:
    told = "  ".join(f"{folder} R@{at} {100 * share:.1f}" for (folder, at), share in shares.items())
    print(f"  {what:<24} {told}", flush=True)
