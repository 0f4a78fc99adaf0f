"""A conversation of 500 turns: how large its requests are, and how much of each a server must read again.

A server's prompt cache holds what two requests have in common at their beginning. What stands behind that is read
again; it is counted here for this program, and for the same conversation in a window that slides by a turn each time.
"""

import json
import random
import statistics
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from agent_cli.agent import loop
from agent_cli.agent.loop import Question
from agent_cli.app import models, turns, upkeep
from agent_cli.app.app import App, open_app
from agent_cli.memory.conversations import sessions
from agent_cli.messages import Part
from tests.conftest import CHAT
from tests.ollama_server import chat
from tests.ollama_server.script import reply
from tests.ollama_server.server import OllamaServer

TURNS = 500
TOLD, ASKED = 3, 400  # the turn in which something is told, and the one in which it is asked for
FACT, QUESTION = "My boat lies in the harbour of Vinisce, berth 4711.", "Where does my boat lie, and at which berth?"
MEDIAN = 2000  # tokens of the median request

_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
_WORDS = ["".join(random.Random(n).choices(_SYLLABLES, k=2 + n % 3)) for n in range(5000)]
_OFTEN = [1 / (10 + n) for n in range(5000)]  # Zipf


def run() -> bool:
    """Print the figures; whether the targets are met."""
    with tempfile.TemporaryDirectory() as folder, OllamaServer(models=[CHAT]) as server:
        chance = random.Random(5)
        server.answer = lambda body: reply(_sentence(chance, 30))
        requests = _talk(Path(folder), server, chance)
        sizes = [each.prompt_tokens for each in requests]
        seen = _text(requests[ASKED])
        read_again = [_behind(before, after) for before, after in pairwise(_messages(each) for each in requests)]
        last = [_tokens(_messages(each)[-3:]) for each in requests]
        slid = [_behind(before, after) for before, after in pairwise(_sliding(requests))]
        num_ctx = requests[0].body["options"].get("num_ctx", 0)
    found = "4711" in seen
    rows = [
        ("largest request", max(sizes), f"≤ num_ctx {num_ctx}", max(sizes) <= num_ctx),
        ("median request", statistics.median(sizes), f"≤ {MEDIAN}", statistics.median(sizes) <= MEDIAN),
        ("median read again", statistics.median(read_again), "", True),
        ("  last exchange, question, recall", statistics.median(last), "", True),
        ("  in a window that slides", statistics.median(slid), "", True),
    ]
    print(f"\na conversation of {TURNS} turns, in tokens as the server counts them")
    for name, value, target, met in rows:
        print(f"  {name:<34} {value:>8.0f}  {target}{'' if not target else ' ok' if met else ' NOT'}")
    print(f"  told in turn {TOLD}, asked in turn {ASKED}: {'shown to the model ok' if found else 'NOT shown'}")
    return found and all(met for *_, met in rows)


def _talk(folder: Path, server: OllamaServer, chance: random.Random) -> list[Any]:
    environ = {
        "AGENT_DB": str(folder / "memory.db"),
        "AGENT_CONFIG": str(folder / "none.toml"),
        "OLLAMA_HOST": server.host,
        "AGENT_MODEL": CHAT.name,
    }
    app = open_app({}, print, environ=environ)
    session = sessions.start(app.db, app.scope, app.time())
    for turn in range(TURNS):
        words = {TOLD: FACT, ASKED: QUESTION}.get(turn) or f"{_sentence(chance, 20)} What do you think?"
        _turn(app, session, words)
    app.db.close()
    return [each for each in server.requests if each.path == "/api/chat"]


def _turn(app: App, session: int, words: str) -> None:
    model, _ = models.chat(app, app.db)
    hired = turns.agent(app, model, lambda call: False)
    question = Question(turns.tool_context(app, app.db, session), [Part(words, "typed")])
    for _ in loop.run_turn(lambda: (hired, ""), question):
        pass
    upkeep.after_turn(app, app.db)


def _sentence(chance: random.Random, words: int) -> str:
    return f"{' '.join(chance.choices(_WORDS, _OFTEN, k=words)).capitalize()}."


def _messages(request: Any) -> list[dict[str, Any]]:
    return list(request.body["messages"])


def _text(request: Any) -> str:
    return json.dumps(_messages(request), ensure_ascii=False)


def _tokens(messages: Sequence[dict[str, Any]]) -> int:
    return chat.count_tokens(messages, None)


def _behind(before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]) -> int:
    """Tokens of the later request behind what both begin with."""
    one, other = (json.dumps(each, ensure_ascii=False) for each in (before, after))
    same = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return (len(other) - same) // 4


def _sliding(requests: Sequence[Any], width: int = 20) -> list[list[dict[str, Any]]]:
    """The same conversation, each request with so many of its last messages."""
    questions = [
        {**_messages(each)[-1], "content": _messages(each)[-1]["content"].split("\n\n")[0]} for each in requests
    ]
    answers = [_messages(each)[-2] for each in requests[1:]] + [{}]
    said = [message for both in zip(questions, answers, strict=True) for message in both]
    system = _messages(requests[0])[:1]
    return [[*system, *said[max(0, 2 * n + 1 - width) : 2 * n + 1]] for n in range(len(requests))]
