"""The engine that the settings name."""

import os

from agent_cli.config.values import Config
from agent_cli.llm.ollama.engine import OllamaEngine
from agent_cli.llm.server.engine import Engine


def of(config: Config) -> Engine:
    """Its address is read when it is needed: what is wrong with that keeps nobody from their notes."""
    if config.engine == "openai":
        from agent_cli.llm.openai.engine import OpenAIEngine  # not the default: loaded only where it is used

        key = os.environ.get(config.key_variable, "").strip()
        private_only = not config.words_leave_machine
        return OpenAIEngine(
            config.host, key, private_only, config.num_ctx, config.options, config.answer_tokens, config.patience
        )
    keep_alive = config.keep_alive or None
    return OllamaEngine(config.host, config.num_ctx, keep_alive, config.options, config.answer_tokens, config.patience)
