"""Learns the weights of recall (memory/search/ranking.py) from conversations whose questions name their evidence.

A softmax over the candidates of a question: the weights make each message that holds evidence likelier than all that do
not, by gradient descent on the logarithm of its share, with a penalty on large weights. Folders count alike, however
many questions they have. What is printed is measured on conversations that were left out while learning.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agent_cli.llm.embedded import EmbeddedEmbedder
from agent_cli.memory.scope import PERSON
from agent_cli.memory.search import ranking, recall
from agent_cli.memory.search.candidates import Filter
from benchmarks.recall import NOW, Changed, lines, opened

FOLDS = 4  # parts of the conversations, each left out once
STEPS, RATE = 400, 0.1  # of the descent (Adam)
PENALTY = 0.5  # on the squares of the weights
AT = (5, 10)
MOST = 1000  # more than there are candidates: all of them are looked at closely


@dataclass(frozen=True)
class Example:
    """A question: the features of its candidates (candidates × features), and which of them are evidence."""

    folder: str
    conversation: str
    features: np.ndarray
    evidence: np.ndarray
    named: int  # messages that are evidence, found or not


def run(options: Sequence[str]) -> bool:
    """Print the weights learned and what they find; True."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks learn_weights")
    parser.add_argument("--data", type=Path, action="append", required=True, help="a folder as for recall --data")
    parser.add_argument("--ablate", action="store_true", help="also without each feature")
    given = parser.parse_args(options)
    examples = [example for folder in given.data for example in _examples(folder)]
    names = list(ranking.WEIGHTS)
    print("left out while learning:")
    _print_shares("all", _held_out(examples, range(len(names))))
    for name in names if given.ablate else ():
        _print_shares(f"without {name}", _held_out(examples, [n for n, other in enumerate(names) if other != name]))
    learned = _learn(examples, range(len(names)))
    print("learned from all:")
    for name, weight in zip(names, learned, strict=True):
        print(f'    "{name}": {weight:.2f},')
    return True


def _examples(folder: Path) -> Iterator[Example]:
    embedder, names = EmbeddedEmbedder(), list(ranking.WEIGHTS)
    for path in sorted(folder.glob("*.sessions.jsonl")):
        name = path.name.removesuffix(".sessions.jsonl")
        for with_facts in (False, True) if lines(folder, name, "facts") else (False,):
            db = opened(folder, name, embedder, with_facts)
            for line in lines(folder, name, "questions"):
                asked = json.loads(line)
                with Changed({ranking: {"CLOSELY": MOST}}):
                    hits = recall.find(db, asked["question"], Filter(PERSON, ("message",)), NOW, MOST, embedder).hits
                features = [[hit.legs.get(each, 0.0) / ranking.WEIGHTS[each] for each in names] for hit in hits]
                evidence = np.array([hit.external_id in asked["evidence"] for hit in hits], bool)
                kind = f"{folder.name}{' with facts' if with_facts else ''}"
                shaped = np.array(features, float).reshape(len(hits), len(names))
                yield Example(kind, name, shaped, evidence, len(asked["evidence"]))
            db.close()


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
    features: np.ndarray, evidence: np.ndarray, sizes: Sequence[int], shares: np.ndarray, weights: np.ndarray
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
    order = sorted({(each.folder.partition(" ")[0], each.conversation) for each in examples})
    fold = {conversation: number % FOLDS for number, (_, conversation) in enumerate(order)}
    shares: dict[tuple[str, int], list[float]] = {}
    for part in range(FOLDS):
        weights = _learn([each for each in examples if fold[each.conversation] != part], used)
        for each in examples:
            if fold[each.conversation] == part:
                best = np.argsort(-(each.features[:, used] @ weights), kind="stable")
                for at in AT:
                    shares.setdefault((each.folder, at), []).append(each.evidence[best[:at]].sum() / each.named)
    return {key: float(np.mean(found)) for key, found in shares.items()}


def _print_shares(what: str, shares: Mapping[tuple[str, int], float]) -> None:
    told = "  ".join(f"{folder} R@{at} {100 * share:.1f}" for (folder, at), share in shares.items())
    print(f"  {what:<24} {told}", flush=True)
