"""What is sent to a chat model, without what could pose as a role, and how its reply is made into chunks.

In all that is sent, the tokens by which chat templates mark roles are broken by a blank behind the first character. A
server's tokenizer reads such a token as a boundary between roles wherever it stands: a note with `<|im_end|>` in it
would end the person's message and could begin one of the system. The words in the database stay as they are. Roles that
a template marks with plain words (`### Instruction:`, `User:`) are ordinary text and cannot be told apart.
"""

import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import Any

from agent_cli import text
from agent_cli.llm import http, repair
from agent_cli.llm.model import Chunk, Thinking
from agent_cli.messages import Message, ToolCall
from agent_cli.values import frozen

TOKENS: Mapping[str, Sequence[str]] = {
    family: tokens.split()
    for family, tokens in {
        # huggingface.co/Qwen/Qwen3-8B tokenizer_config.json
        "Qwen": "<tool_call> </tool_call> <tool_response> </tool_response> <think> </think> <tools>",
        # huggingface.co/meta-llama/Llama-2-7b-chat-hf
        "Llama 2": "<s> </s> [INST] [/INST] <<SYS>> <</SYS>> <step>",
        # github.com/mistralai/mistral-common, SpecialTokens
        "Mistral": "[INST] [/INST] [SYSTEM_PROMPT] [/SYSTEM_PROMPT] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_CALLS] "
        "[TOOL_RESULTS] [/TOOL_RESULTS] [TOOL_CONTENT] [CALL_ID] [ARGS] [THINK] [/THINK] [IMG] [PREFIX] "
        "[SUFFIX] [MIDDLE]",
        # ai.google.dev/gemma/docs/core/prompt-structure
        "Gemma": "<start_of_turn> <end_of_turn> <bos> <eos> <start_of_image> <end_of_image>",
        "FunctionGemma": "<start_function_call> <end_function_call> <start_function_declaration> "
        "<end_function_declaration> <start_function_response> <end_function_response>",
        # huggingface.co/CohereLabs/c4ai-command-r7b-12-2024
        "Command-R": "<BOS_TOKEN> <EOS_TOKEN>",
        # huggingface.co/zai-org/GLM-4.6 chat_template.jinja
        "GLM": "[gMASK] [sMASK] <sop> <eop> <arg_key> <arg_value> </arg_value>",
        # llama.cpp models/templates: unsloth-MiniMax-M2, ByteDance-Seed-OSS, NVIDIA-Nemotron-Nano-v2
        "MiniMax": "]~!b[ ]~b] [e~[",
        "Seed": "<seed:bos> <seed:eos> <seed:think> </seed:think> <seed:tool_call> </seed:tool_call>",
        "Nemotron": "<SPECIAL_10> <SPECIAL_11> <SPECIAL_12> <extra_id_0> <extra_id_1>",
        "SentencePiece": "<unk> <pad> <mask>",
    }.items()
}
"""The tokens of each family that are not known by their bars, and above them where they are written down."""

_FOLDED = {"_": "[_▁ ]"}  # characters that stand for one another
_WITH_BARS = text.Pattern(  # the shape of most tokens, as of <|im_start|>, <｜User｜>, <|turn> and [|user|]
    r"<(?=[|｜][^\s<>|｜][^<>|｜\n]{0,60}[|｜]?>|[^\s<>|｜][^<>|｜\n]{0,60}[|｜]>)|\[(?=\|[a-z_ ]{2,30}\|\])",
    re.IGNORECASE,
)
_BEGINNINGS = {"<", "[|", *(token[:2].casefold() for tokens in TOKENS.values() for token in tokens if token[0] != "<")}


@cache
def _without_bars() -> text.Pattern:
    """The tokens of the table, by their first character."""
    rest: dict[str, set[str]] = {}
    for token in {token for tokens in TOKENS.values() for token in tokens}:
        rest.setdefault(token[0], set()).add("".join(_FOLDED.get(each, re.escape(each)) for each in token[1:]))
    firsts = (f"{re.escape(first)}(?={'|'.join(sorted(ends))})" for first, ends in sorted(rest.items()))
    return text.Pattern("|".join(firsts), re.IGNORECASE)


def broken(words: str) -> str:
    """The words in visible characters, with a blank behind the first character of each token; the same every time."""
    words = text.visible(words)
    folded = words.casefold()
    if not any(beginning in folded for beginning in _BEGINNINGS):
        return words  # as most are: the table need not be compiled for them
    return _without_bars().sub(r"\g<0> ", _WITH_BARS.sub(r"\g<0> ", words))


def unmarked(value: Any) -> Any:
    """A JSON value without the tokens of chat templates."""
    return text.map_texts(value, broken)


_MAX_DEPTH = 50  # levels of nesting in an argument
_NAMED_TOOL = text.Pattern(r"\b(\w+)\(")  # a tool that calls others names them in its description: jot(text)


def read_object(line: bytes) -> dict[str, Any]:
    """The JSON object of a line, fit to be stored. Raises ServerFault."""
    try:
        answer = json.loads(line.decode("utf-8", "replace"))
        if b"\\ud" in line.lower():  # a lone surrogate cannot be stored
            answer = json.loads(text.without_surrogates(json.dumps(answer, ensure_ascii=False)))
    except (ValueError, RecursionError) as error:
        raise http.ServerFault("unreadable", line[:200].decode("utf-8", "replace")) from error
    if not isinstance(answer, dict):
        raise http.ServerFault("unreadable", str(answer)[:200])
    if answer.get("error"):
        raise http.as_fault(answer)
    return answer


class ReplyParser(ABC):
    """Makes the chunks of one reply."""

    def __init__(self, model: str, tools: Sequence[Mapping[str, Any]], used_ids: Collection[str]):
        named = (name for tool in tools for name in _NAMED_TOOL.findall(tool.get("description") or ""))
        self._schemas = {name: {} for name in named} | {tool["name"]: tool.get("parameters") or {} for tool in tools}
        self._model = model
        self._ids = set(used_ids)
        self._thinking = repair.ThinkingParser()
        self._printed = repair.PrintedCallDetector(self._schemas)
        self._has_calls = False

    @abstractmethod
    def feed(self, line: bytes) -> Iterator[Chunk]:
        """The chunks of one line of the response; Done is the last of a whole reply. Raises ServerFault."""

    @abstractmethod
    def end(self) -> Iterator[Chunk]:
        """The chunks that the end of the response makes. Raises ServerFault when the reply is not whole."""

    def message(self, thinking: Any, content: Any) -> Iterator[Chunk]:
        """The chunks of what arrived; anything but a text is ignored."""
        if isinstance(thinking, str) and thinking:
            self._thinking.ignore_tags = True  # a closing tag alone takes nothing back
            yield Thinking(thinking)
        if isinstance(content, str) and content:
            yield from self._printed.feed(self._thinking.feed(content))

    def calls(self, calls: Sequence[tuple[Any, str, Any]]) -> Iterator[Chunk]:
        """Tool calls: (the server's id, name, arguments)."""
        yield from self._printed.feed(self._thinking.flush())
        yield from self._printed.flush()
        for id, name, arguments in calls:
            yield self._make_call(id, name, repair.coerce_arguments(arguments, self._schemas.get(name, {})))

    def flush(self, whole: bool) -> Iterator[Chunk]:
        """The chunks held back. Only in a `whole` reply can the text turn out to be calls."""
        yield from self._printed.feed(self._thinking.flush())
        calls = self._printed.calls() if whole and not self._has_calls else []
        for name, arguments in calls:
            yield self._make_call("", name, arguments)
        for held in self._printed.flush() if not calls else ():
            cut = whole and held.text.lstrip().startswith(repair.OPEN_TAG)  # a call that was cut is no answer
            yield Thinking(held.text) if cut else held

    def _make_call(self, server_id: Any, name: str, arguments: dict[str, Any]) -> ToolCall:
        """A call with the server's id, or with a new one when that is empty or already used."""
        self._has_calls = True
        id = server_id if isinstance(server_id, str) else ""
        while not id or id in self._ids:
            id = f"call_{os.urandom(4).hex()}"
        self._ids.add(id)
        return ToolCall(id, name, arguments if _is_shallow(arguments) else {})


def _is_shallow(value: Any, levels: int = _MAX_DEPTH) -> bool:
    """Whether the value is nested so deep at most: what is deeper can be parsed but not serialized again."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return not inner or (levels > 1 and all(_is_shallow(each, levels - 1) for each in inner))


@frozen
class ChatSettings:
    """What holds for every reply of an engine's chat models."""

    num_ctx: int = 8192  # tokens of the context
    options: Mapping[str, Any] = field(default_factory=dict)  # as Ollama names them
    answer_tokens: int = 0  # the most of a reply, thinking included; 0: as many as fit the context
    patience: float = 30.0  # seconds to wait in total for a server that answers that it is busy


@frozen
class Request:
    """What is asked for, in no server's form: the arguments of ChatModel.reply."""

    messages: Sequence[Message]
    tools: Sequence[dict[str, Any]]
    think: bool | str | None = None
    format: Mapping[str, Any] | None = None
    limit: int | None = None
