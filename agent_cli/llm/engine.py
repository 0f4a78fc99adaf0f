"""What runs models: a kind of server, or a process of our own; its models, asked until they answer, and embeddings.

Most embedding models expect a prefix that says whether a text is a document or a query; servers add none, and recall
suffers without it. One bad text fails a whole request without saying which, so a failed batch is halved until the bad
text is alone. Texts are cut by characters first: in code or a table, a token may be one character.
"""

import math
import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain
from typing import Any, ClassVar

from agent_cli import text
from agent_cli.errors import AgentError, ContextExceeded, ModelFailed, ModelMissing, ModelUnavailable
from agent_cli.llm import http
from agent_cli.llm.chat import ChatSettings, ReplyParser, Request, broken, unmarked
from agent_cli.llm.http import Address, ServerFault
from agent_cli.llm.model import Cancel, ChatModel, Chunk, Done, Notice, Text
from agent_cli.messages import Message, ToolCall
from agent_cli.values import frozen

BATCH_SIZE = 32
_MAX_CHARACTERS = 2000

Vector = list[float]


@frozen
class ModelTraits:
    """A model's limit in tokens as Ollama applies it, and its prefixes."""

    tokens: int = 512
    document: str = ""
    query: str = ""


_SEARCH_PREFIXES = ("search_document: ", "search_query: ")
_PASSAGE_QUERY = "Represent this sentence for searching relevant passages: "
_INSTRUCT_QUERY = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"

# From the model cards, cut to what Ollama 0.30 feeds in one batch. In order of preference where a server has several.
TRAITS: Mapping[str, ModelTraits] = {
    "embeddinggemma": ModelTraits(2048, "title: none | text: ", "task: search result | query: "),
    "qwen3-embedding": ModelTraits(2048, "", _INSTRUCT_QUERY),
    "bge-m3": ModelTraits(2048),
    "snowflake-arctic-embed2": ModelTraits(2048, "", "query: "),
    "snowflake-arctic-embed-l-v2": ModelTraits(2048, "", "query: "),
    "snowflake-arctic-embed-m-v2": ModelTraits(2048, "", "query: "),
    "nomic-embed-text-v2-moe": ModelTraits(512, *_SEARCH_PREFIXES),
    "nomic-embed-text": ModelTraits(2048, *_SEARCH_PREFIXES),
    "mxbai-embed-large": ModelTraits(512, "", _PASSAGE_QUERY),
    "bge-large": ModelTraits(512, "", _PASSAGE_QUERY),
    "snowflake-arctic-embed": ModelTraits(512, "", _PASSAGE_QUERY),
    "granite-embedding": ModelTraits(512),
    "multilingual-e5": ModelTraits(512, "passage: ", "query: "),
    "all-minilm": ModelTraits(256),
    "paraphrase-multilingual": ModelTraits(128),
}
SUGGESTED = "embeddinggemma"

# Unrelated to each other: how near these are tells what a cosine of the model means.
_QUESTIONS = (
    "Where did we park the car?, What does my sister do for a living?, Which book did you recommend?, "
    "When is the dentist?, How much was the new bicycle?, Who baked the bread for the party?, "
    "Why was the flight late?, What colour is the kitchen?"
)
_STATEMENTS = (
    "The meeting was moved to Thursday., I planted tomatoes behind the house., Our dog is afraid of thunder., "
    "She plays the violin in an orchestra., The printer is out of paper again., We watched a film about whales., "
    "My knee hurts after running., He sold his flat in Vienna., I learned to swim last summer., "
    "The soup needs more salt., Their train leaves at noon., Please send me the invoice."
)
_NOISE, _NEAR = 2, 6  # standard deviations: above the mean of the unrelated, and from there to as near as 1
_LEAST = 0.05  # from noise to near; a server's vectors may all be the same
NAME_PARTS = ("embed", "bert", "minilm", "bge")  # by which an embedding model is known on a server before 0.30


def bare_name(model: str) -> str:
    """The name in TRAITS that a model's name holds, be it a file's or with its publisher; else the name itself."""
    name = model.rpartition("/")[2].partition(":")[0].lower()
    return max((known for known in TRAITS if known in name), key=len, default=name)


class ServerModel:
    """A ChatModel of an engine. It remembers which fields of a request are of no use with its model."""

    def __init__(self, engine: "Engine", name: str):
        self.name, self._engine, self._address = name, engine, engine.address
        self._runs_here = False
        self._left_out: set[str] = set()  # names of fields
        # Of a small model only the likeliest words make sense.
        likeliest = {"temperature": 0} if is_small(name) else {}
        limit = {"num_predict": engine.settings.answer_tokens} if engine.settings.answer_tokens else {}
        options: dict[str, Any] = {**limit, **likeliest, **engine.settings.options}
        self._options = {engine.limit_option if key == "num_predict" else key: each for key, each in options.items()}

    def reply(
        self, messages: Sequence[Message], tools: Sequence[Any] = (), *, cancel: Cancel | None = None, **asked: Any
    ) -> Iterator[Chunk]:
        """Stream one message. A request that failed is repeated once; one to a busy server, for some time."""
        engine, request = self._engine, Request(messages, tools, **asked)
        cancel = Cancel() if cancel is None else cancel
        used_ids = {call.id for message in messages for call in message.calls}
        time_left, pause = engine.settings.patience, 0.5
        failed = busy = started = False  # started: a text or a call was given out, so it cannot be repeated
        while True:
            body = self._body(request)
            parser = engine.parser(self.name, tools if "tools" in body else (), used_ids)
            try:
                for chunk in self._read(body, parser, cancel):
                    started = started or isinstance(chunk, Text | ToolCall)
                    yield chunk
                return
            except ModelUnavailable:
                if started or failed or not engine.is_own_process:
                    raise
                failed = True  # it has ended since it was found
                continue
            except ServerFault as caught:
                fault = caught
            fields, sentence = engine.refused(fault, body)
            if fields:
                self._left_out |= fields
                if sentence:
                    yield Notice(sentence)
            elif started:
                break
            elif fault.kind == "busy" and time_left > 0:
                if not busy:
                    yield Notice("the model server is busy; waiting for it")
                wait = min(fault.retry_after or pause, time_left)
                time_left, pause, busy = time_left - wait, min(2 * pause, 8.0), True
                cancel.wait(wait)
            elif not failed and (fault.kind in ("crash", "call") or (fault.kind == "cut" and fault.status == 0)):
                failed = True
                yield Notice("the model server failed once; asked again")
            else:
                break
        yield from parser.flush(whole=False)
        raise as_error(fault, self.name, self._address, engine.settings.num_ctx) from fault

    def _body(self, request: Request) -> dict[str, Any]:
        messages = [self._engine.message_json(each) for each in request.messages]
        body = {"model": self.name, "messages": messages, "stream": True}
        body |= self._engine.fields(request, self._options)
        if request.tools:
            body["tools"] = [{"type": "function", "function": unmarked(tool)} for tool in request.tools]
        return {name: value for name, value in body.items() if name not in self._left_out}

    def _read(self, body: Mapping[str, Any], parser: ReplyParser, cancel: Cancel) -> Iterator[Chunk]:
        engine = self._engine
        self._runs_here = self._runs_here or engine.runs_here(self.name, cancel)
        self._address = engine.address_of(self.name, cancel)
        with closing(http.stream_lines(self._address, engine.chat_path, body, cancel=cancel)) as lines:
            for line in chain(lines, [None]):
                for chunk in parser.end() if line is None else parser.feed(line):
                    if isinstance(chunk, Done):
                        yield replace(chunk, model=self.name) if engine.is_own_process else chunk  # it says the file
                        return
                    yield chunk


class ServerEmbedder:
    """Turns texts into vectors of length 1, with a model of an engine."""

    def __init__(self, engine: "Engine", model: str):
        self.model, self._engine = model, engine
        self._traits = TRAITS.get(bare_name(model), ModelTraits())
        self._characters = min(_MAX_CHARACTERS, 4 * self._traits.tokens)
        self._dimension = 0
        self._runs_here = False

    def embed_documents(self, texts: Sequence[str], cancel: Cancel | None = None) -> list[Vector | None]:
        return self.embed(texts, cancel, self._traits.document)

    def embed_query(self, question: str, cancel: Cancel | None = None) -> Vector | None:
        """The vector of a question, None for one that cannot be embedded. Raises AgentError."""
        return self.embed([question], cancel, self._traits.query)[0]

    def embed(self, texts: Sequence[str], cancel: Cancel | None = None, prefix: str = "") -> list[Vector | None]:
        """A vector for each text, None for an empty one and for one the model fails on. Raises AgentError."""
        cancel = Cancel() if cancel is None else cancel
        vectors: list[Vector | None] = [None] * len(texts)
        filled = [index for index, text in enumerate(texts) if text.strip()]
        for start in range(0, len(filled), BATCH_SIZE):
            batch = filled[start : start + BATCH_SIZE]
            found = self._embed_batch([prefix + texts[index][: self._characters] for index in batch], cancel)
            for index, vector in zip(batch, found, strict=True):
                vectors[index] = vector
        return vectors

    def dimension(self) -> int:
        if not self._dimension:
            vector = self.embed(["dimension"])[0]
            if vector is None:
                raise ModelFailed(f"the model {self.model!r} cannot embed a single word")
            self._dimension = len(vector)
        return self._dimension

    def scale(self) -> tuple[float, float]:
        """The cosine below which texts are unrelated, and how far above it they are as near as 1. Raises AgentError."""
        questions = self.embed(_QUESTIONS.split(", "), prefix=self._traits.query)
        others = self.embed(_STATEMENTS.split(", "), prefix=self._traits.document)
        cosines = [sum(map(operator.mul, one, other)) for one in questions if one for other in others if other]
        if not cosines:
            raise ModelFailed(f"the model {self.model!r} cannot embed a sentence")
        from statistics import fmean, pstdev  # 5 ms, needed for vectors alone

        deviation = pstdev(cosines)
        return fmean(cosines) + _NOISE * deviation, max(_LEAST, _NEAR * deviation)

    def identity(self) -> str:
        """Model name, version, dimension and prefixes: only vectors of one identity compare. Raises AgentError."""
        return f"{self._engine.version(self.model)} {self.dimension()} {self._traits.document!r} {self._traits.query!r}"

    def matches(self, identity: str) -> bool:
        """Whether the model still has this identity, without embedding anything. Raises AgentError."""
        prefixes = f" {self._traits.document!r} {self._traits.query!r}"
        return identity.startswith(f"{self._engine.version(self.model)} ") and identity.endswith(prefixes)

    def _embed_batch(self, texts: list[str], cancel: Cancel) -> list[Vector | None]:
        try:
            self._runs_here = self._runs_here or self._engine.runs_here(self.model, cancel)
            vectors = self._engine.vectors(self.model, texts, cancel)
        except ServerFault as fault:
            bad_text = fault.status == 400 or "NaN" in fault.message
            if not bad_text or fault.kind in ("missing", "no embedding", "key"):
                raise as_error(fault, self.model, self._engine.address) from fault
            if not (half := len(texts) // 2):
                return [None]
            return self._embed_batch(texts[:half], cancel) + self._embed_batch(texts[half:], cancel)
        try:
            lengths = [math.hypot(*vector) for vector in vectors]
        except TypeError:
            lengths = []
        if len(lengths) != len(texts) or not all(vectors):
            raise ModelFailed(f"the model server did not send {len(texts)} vectors for {len(texts)} texts")
        return [
            vector if abs(length - 1) < 1e-3 or not length else [number / length for number in vector]
            for vector, length in zip(vectors, lengths, strict=True)
        ]


_SMALL = re.compile(r"(?<![a-z0-9.])(?:\d{2,3}m|0\.\d+b)(?![a-z0-9])")

AUTO = "auto"  # the name that stands for any fitting model of the engine
PROBE_TIMEOUT = 0.5  # seconds within which a running server answers


@frozen
class Tag:
    name: str
    size: int = 0  # bytes
    digest: str = ""
    capabilities: tuple[str, ...] = ()  # empty where the server does not say
    remote: str = ""  # the host it runs on, when that is another one
    modified_at: str = ""  # RFC 3339 with the server's offset
    context_length: int = 0  # tokens it was trained with, 0 where the server does not say
    family: str = ""

    @property
    def elsewhere(self) -> bool:
        """Whether it runs on another machine than its server."""
        return bool(self.remote) or is_cloud(self.name)


class Engine(ABC):
    name: ClassVar[str]  # as in the settings; the identity of its vectors begins with it
    start: ClassVar[str]  # how to start it, as the second half of a sentence
    no_model: ClassVar[str] = ""  # what is said where it has none that can chat
    is_own_process: ClassVar[bool] = False  # of this program: it may have ended since it was found
    private_only: bool  # whether a model that runs on somebody else's machine is refused
    settings: ChatSettings
    chat_path: ClassVar[str]
    limit_option: ClassVar[str]  # what the server calls the most tokens of a reply
    thinking_field: ClassVar[str]  # of a message
    tool_name_field: ClassVar[str]
    parser: ClassVar[type[ReplyParser]]

    @property
    @abstractmethod
    def address(self) -> Address: ...

    def address_of(self, model: str, cancel: Cancel, *, embeds: bool = False) -> Address:
        return self.address

    @property
    def url(self) -> str:
        return self.address.url

    @abstractmethod
    def listing(self, timeout: float = PROBE_TIMEOUT) -> list[Tag]:
        """Its models. Raises ModelUnavailable when it does not answer within `timeout` seconds."""

    def find(self, model: str) -> Tag | None:
        """A model by its name. Raises ModelUnavailable."""
        return find(model, self.listing())

    def chat(self, model: str) -> ChatModel:
        """Raises ModelMissing for a model that must not be used."""
        if self.private_only:
            refuse_cloud(model)
        return ServerModel(self, model)

    @abstractmethod
    def vectors(self, model: str, texts: Sequence[str], cancel: Cancel) -> Any:
        """What it sends as the vectors of the texts, in their order. Raises ServerFault, AgentError."""

    @abstractmethod
    def version(self, model: str) -> str:
        """The model's name, and what changes with it. Raises AgentError."""

    def runs_here(self, model: str, cancel: Cancel) -> bool:
        """Whether it is known that the model runs on the server itself. Raises ModelMissing where it does not."""
        return True

    def loaded(self, models: Sequence[str]) -> list[str] | None:
        """Which of these models it has in memory; None when it does not say."""
        return None

    def pull_command(self, model: str) -> str:
        """The command that adds a model; empty where models are added otherwise."""
        return ""

    def missing(self, model: str = "") -> ModelMissing:
        """The error for a model that it does not have; without a name, for having none that can chat."""
        return missing(model, self.address) if model else ModelMissing(f"the server at {self.url} {self.no_model}")

    @abstractmethod
    def fields(self, request: Request, options: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of the request that are the server's own."""

    @abstractmethod
    def call_fields(self, index: int, call: ToolCall) -> dict[str, Any]:
        """The fields of a call besides its id."""

    @abstractmethod
    def refused(self, fault: ServerFault, body: Mapping[str, Any]) -> tuple[set[str], str]:
        """The fields that the fault names as not supported, and a sentence for the person, who need not know of all."""

    def message_json(self, message: Message) -> dict[str, Any]:
        result: dict[str, Any] = {"role": message.role, "content": broken(message.content)}
        if message.calls:
            calls = enumerate(message.calls)
            result["tool_calls"] = [{"id": broken(call.id), **self.call_fields(index, call)} for index, call in calls]
            if message.thinking:  # a model continues from it after its calls, and needs it nowhere else
                result[self.thinking_field] = broken(message.thinking)
        if message.role == "tool":
            result |= unmarked({self.tool_name_field: message.tool_name, "tool_call_id": message.call_id})
        return result


def without_tools(body: Mapping[str, Any]) -> tuple[set[str], str]:
    return {"tools"}, f"the model {body['model']!r} cannot use tools; asked again without them"


def is_small(model: str) -> bool:
    """Whether a model has less than a billion parameters, by its name: `qwen3:0.6b`, `SmolLM2-135M-Instruct.gguf`."""
    return _SMALL.search(model.lower()) is not None


def is_cloud(model: str) -> bool:
    return model.lower().endswith((":cloud", "-cloud"))


def cloud(model: str) -> ModelMissing:
    why = f"the model {model!r} runs on somebody else's machine; only models on your own server are used"
    return ModelMissing(why, "choose another with --model, `agent models` lists them")


def refuse_cloud(model: str) -> None:
    if is_cloud(model):
        raise cloud(model)


def find(name: str, tags: list[Tag]) -> Tag | None:
    """The model with this name: no tag means `:latest`, and case does not count."""
    return next((tag for tag in tags if same_model(tag.name, name)), None)


def same_model(one: str, other: str) -> bool:
    full = [(name if ":" in name.rpartition("/")[2] else f"{name}:latest").lower() for name in (one, other)]
    return full[0] == full[1]


def pick_embedder(name: str, listed: list[Tag]) -> Tag | None:
    """The model with this name, with "auto" the preferred one that embeds on the server itself; None without one."""
    if name != AUTO:
        return find(name, listed)
    fitting = [tag for tag in listed if embeds(tag) and not tag.elsewhere]
    rank = {name: number for number, name in enumerate(TRAITS)}
    return min(fitting, key=lambda tag: (rank.get(bare_name(tag.name), len(rank)), tag.size, tag.name), default=None)


def embeds(tag: Tag) -> bool:
    """Whether a model embeds; without listed capabilities, judged by its name."""
    if tag.capabilities:
        return "embedding" in tag.capabilities
    return bare_name(tag.name) in TRAITS or any(part in f"{tag.name} {tag.family}".lower() for part in NAME_PARTS)


def missing(model: str, address: Address) -> ModelMissing:
    advice = address.kind.add_model.format(model=model)
    return ModelMissing(f"the model {model!r} is not on the server at {address.url}: {advice}")


def refused_key(fault: ServerFault, address: Address) -> ModelFailed:
    given = "refuses the key" if address.key else "wants a key"
    advice = "put the right one into the environment variable that key_variable names"
    return ModelFailed(f"the server at {address.url} {given} ({fault.status}): {advice}")


_FAILURES = {
    "cut": "the model server closed the connection before the answer was complete; what arrived is kept",
    "incomplete": "the model stopped in the middle of its answer; what arrived is kept",
    "unreadable": "the model server sent an answer that cannot be read ({message}); what arrived is kept",
    "call": "the model {model!r} wrote a tool call that cannot be read: {message}",
    "busy": "the model server is still busy: {message}; try again in a while",
    "memory": "the model {model!r} does not fit into memory: {message}; choose a smaller one or a smaller num_ctx",
    "setting": "the model server refuses a setting: {message}; check keep_alive and the options in the settings",
    "template": "the template of the model {model!r} refuses the conversation: {message}",
}


def as_error(fault: ServerFault, model: str, address: Address, num_ctx: int = 0) -> AgentError:
    kind = address.kind
    message = text.one_line(fault.message, 300) or f"status {fault.status}, without a message"
    if kind is not http.OLLAMA and (fault.kind in ("key", "host refused") or fault.status == 403):
        return refused_key(fault, address)
    match fault.kind:
        case "missing":
            return missing(model, address)
        case "key":
            return cloud(model)
        case "no embedding":
            return ModelMissing(f"the model {model!r} cannot embed: {kind.add_embedder}")
        case "no chat":
            return ModelMissing(f"the model {model!r} cannot chat", "choose another with --model")
        case "context":
            context = fault.context or num_ctx
            if fault.needed and context:
                size = f"{fault.needed} tokens, and the model's context holds {context}"
            else:
                size = f"more than the {f'{context} ' if context else ''}tokens that the model's context holds"
            advice = "ask something shorter, begin a new session with /new, or raise num_ctx in the settings"
            return ContextExceeded(f"the conversation does not fit: it has {size}; {advice}")
        case "wrong path":
            return http.wrong_server(address, message)
        case "host refused":
            why = f"the server at {address.url} refuses requests under this host name (403)"
            return ModelUnavailable(f"{why}: set {kind.setting} to 127.0.0.1 or localhost and its port")
    stopped = "the model server stopped: {message}; what arrived is kept"
    failed = stopped if fault.status == 200 else "the model server failed: {message}"
    return ModelFailed(_FAILURES.get(fault.kind, failed).format(model=model, message=message))
