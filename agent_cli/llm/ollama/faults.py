"""The sentences for errors that are Ollama's own: models on other machines, and models that can be pulled."""

from agent_cli.errors import AgentError, ModelMissing
from agent_cli.llm.server import engine, faults
from agent_cli.llm.server.address import Address
from agent_cli.llm.server.faults import ServerFault


def missing(model: str, url: str) -> ModelMissing:
    return ModelMissing(f"the model {model!r} is not on the server at {url}: run `ollama pull {model}`")


def as_error(fault: ServerFault, model: str, address: Address, num_ctx: int = 0) -> AgentError:
    """The fault as an error with a sentence for the person."""
    match fault.kind:
        case "missing":
            return missing(model, address.url)
        case "key":
            return engine.cloud(model)
        case "no embedding":
            return ModelMissing(f"the model {model!r} cannot embed: run `ollama pull nomic-embed-text` and use that")
    return faults.as_error(fault, model, address, num_ctx)
