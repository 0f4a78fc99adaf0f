"""The engine that the settings name."""

import os

from agent_cli.config import settings_file
from agent_cli.config.values import Config
from agent_cli.llm.chat import ChatSettings
from agent_cli.llm.engine import Engine
from agent_cli.llm.ollama import OllamaEngine


def of(config: Config) -> Engine:
    """Its address is read when it is needed: what is wrong with that keeps nobody from their notes.

    An engine that is not the default is imported only where it is used.
    """
    chat = ChatSettings(config.num_ctx, config.options, config.answer_tokens, config.patience)
    if config.engine == "openai":
        from agent_cli.llm.openai import OpenAIEngine

        key = os.environ.get(config.key_variable, "").strip()
        return OpenAIEngine(config.host, key, not config.words_leave_machine, chat)
    if config.engine == "local":
        from agent_cli.llm.local import LocalEngine

        named = tuple(name for name in (config.model, config.cheap_model, config.embed_model) if name)
        return LocalEngine(settings_file.runtime_folder(), 60 * config.local_idle, named, chat)
    return OllamaEngine(config.host, chat, config.keep_alive or None)
