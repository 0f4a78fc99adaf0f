"""The eras of the server that can be imitated, as one table of what differs between them."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Profile:
    version: str
    ids: bool = True
    """Tool calls carry an id."""
    native: bool = True
    """Some models leave template and tool calls to llama-server."""
    details: bool = True
    """/api/tags tells capabilities and lengths; /api/status exists."""
    halves: bool = True
    """A prompt that cannot be cut by messages keeps about half the context, else all of it."""
    string_arguments: str = "Value looks like object, but can't find closing '}' symbol"
    embed_too_long: str = "the input length exceeds the context length"
    out_of_memory: str = "llama-server process has terminated: signal: killed"


MODERN = Profile("0.33.0")
V024 = replace(
    MODERN,
    version="0.24.0",
    native=False,
    details=False,
    halves=False,
    embed_too_long="input after truncation exceeds maximum context length",
    out_of_memory="model requires more system memory (5.5 GiB) than is available (3.9 GiB)",
)
V012_9 = replace(
    V024,
    version="0.12.9",
    ids=False,
    string_arguments="json: cannot unmarshal string into Go struct field "
    "ChatRequest.messages.tool_calls.function.arguments of type api.ToolCallFunctionArguments",
)

PROFILES = {"modern": MODERN, "v024": V024, "v012_9": V012_9}
