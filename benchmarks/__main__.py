"""python -m benchmarks [NAME …] [options of one]: run them all, or those named. Ends with 1 when a target is missed."""

import sys
from collections.abc import Callable, Mapping, Sequence

from benchmarks import (
    applied,
    crash,
    crowd,
    damage,
    documents,
    facts,
    first_word,
    learn_weights,
    long_texts,
    real_model,
    recall,
    scale,
    serve,
    startup,
    stream,
    sync,
    typing,
    window,
    years,
)
from benchmarks.attacks import run as attacks
from benchmarks.faults import run as faults
from benchmarks.life import run as life

BENCHMARKS: Mapping[str, Callable[[Sequence[str]], bool]] = {
    "startup": lambda options: startup.run(),
    "stream": lambda options: stream.run(),
    "crash": lambda options: crash.run(),
    "crowd": lambda options: crowd.run(),
    "recall": recall.run,
    "applied": applied.run,
    "damage": damage.run,
    "faults": faults.run,
    "attacks": attacks.run,
    "documents": lambda options: documents.run(),
    "long_texts": lambda options: long_texts.run(),
    "scale": scale.run,
    "facts": facts.run,
    "typing": typing.run,
    "window": lambda options: window.run(),
    "first_word": first_word.run,
    "sync": sync.run,
    "serve": lambda options: serve.run(),
    "years": lambda options: years.run(),
    "life": life.run,
}

TOOLS: Mapping[str, Callable[[Sequence[str]], bool]] = {  # run only when named
    "learn_weights": learn_weights.run,
    "real_model": real_model.run,
}
WITH_OPTIONS = (
    "applied",
    "attacks",
    "damage",
    "faults",
    "recall",
    "facts",
    "scale",
    "sync",
    "typing",
    "first_word",
    "real_model",
    "life",
    "learn_weights",
)


def main(arguments: list[str]) -> int:
    first = next((n for n, each in enumerate(arguments) if each.startswith("--")), len(arguments))
    names, options = arguments[:first], arguments[first:]
    known = {**BENCHMARKS, **TOOLS}
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    if options and names not in [[name] for name in WITH_OPTIONS]:
        told = f"options belong to {', '.join(WITH_OPTIONS)}, named alone: python -m benchmarks recall --rows 10000"
        print(told, file=sys.stderr)
        return 2
    met = [known[name](options) for name in names or BENCHMARKS]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
