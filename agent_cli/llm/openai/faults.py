"""The sentences for errors of a /v1 server."""

from agent_cli.errors import AgentError, ModelFailed, ModelMissing
from agent_cli.llm.server import faults
from agent_cli.llm.server.address import Address
from agent_cli.llm.server.faults import ServerFault


def missing(model: str, url: str) -> ModelMissing:
    return ModelMissing(f"the model {model!r} is not on the server at {url}: `agent models` lists what it has")


def as_error(fault: ServerFault, model: str, address: Address, num_ctx: int = 0) -> AgentError:
    """The fault as an error with a sentence for the person."""
    match fault.kind:
        case "key" | "host refused":
            return refused_key(fault, address)
        case "missing":
            return missing(model, address.url)
        case "no embedding":
            return ModelMissing(f"the model {model!r} cannot embed: name one that can in embed_model")
    if fault.status == 403:
        return refused_key(fault, address)
    return faults.as_error(fault, model, address, num_ctx)


def refused_key(fault: ServerFault, address: Address) -> ModelFailed:
    given = "refuses the key" if address.key else "wants a key"
    return ModelFailed(
        f"the server at {address.url} {given} ({fault.status}): put the right one into the environment variable that "
        "key_variable names"
    )
