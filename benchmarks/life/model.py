"""The model of the simulation, on loopback: it says what the simulation has it say, and does its work as small ones do.

It proposes two of three plain statements as facts, finds no skill, and summarises by repeating what was told.
"""

import json
import re
from typing import Any

from benchmarks.life.lists import Told, contains
from tests.ollama_server.script import Script, reply

_COMMAND = re.compile(r"(?:please |can you )?(?:remember|note|don't forget|merk|vergiss)", re.IGNORECASE)
_SUMMARISE = re.compile(r"^(?:The program asks this, [^.]*\. )?Summarise ")
_LINE = re.compile(r"^- ([a-z]\d+)[, ].*$", re.MULTILINE)


class Model:
    """`told`: all that is ever told. Set before each turn: `says`, and `cites`, what a memory cited must hold."""

    def __init__(self, told: list[Told]):
        self._told = [each for each in told if each.words and each.how == "typed"]
        self._plain = [each for each in self._told if not _COMMAND.match(each.words)]
        self.says, self.cites = "", ""

    def answer(self, body: dict[str, Any]) -> Script:
        asked = body["messages"][-1]["content"]
        whole = "\n".join(each["content"] for each in body["messages"])  # a request may stand behind the conversation
        conversation = _LINE.sub("", whole)  # without what was recalled
        if "List what the PERSON tells" in asked:
            return reply(json.dumps({"operations": self._operations(conversation)}), words=False)
        if "Was something done in the conversation" in asked:
            return reply(json.dumps({"skill": None}), words=False)
        if _SUMMARISE.search(asked):
            said = [f"{each.words.rstrip('.!?')}." for each in self._told if each.words in conversation]
            return reply(" ".join(said[:5]) or "They talked about everyday things.", words=False)
        return reply(f"{self.says}{self._citation(asked)}", words=False)

    def _operations(self, conversation: str) -> list[dict[str, str]]:
        said = [each.words for number, each in enumerate(self._plain) if each.words in conversation and number % 3 != 2]
        nothing = dict.fromkeys(("target", "subject", "predicate", "object"), "")
        return [
            {"op": "INSERT", "statement": words.removeprefix("by the way, "), "quote": words, **nothing}
            for words in said
        ]

    def _citation(self, asked: str) -> str:
        """The first of the memories it was shown that holds what it says."""
        shown = (line for line in _LINE.finditer(asked) if self.cites and contains(line[0], self.cites))
        return next((f" [{line[1]}]" for line in shown), "")
