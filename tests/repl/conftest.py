"""The program in this process on a file of its own, without a model that answers, and a conversation in it."""

import pytest

from agent_cli.app.app import open_app
from agent_cli.repl.conversation import Conversation
from tests.conftest import place


@pytest.fixture
def environ():
    """What the tests of a file add to the environment."""
    return {}


@pytest.fixture
def app(tmp_path, environ):
    place(tmp_path / "memory.db")
    told = {"AGENT_DB": str(tmp_path / "memory.db"), "AGENT_MODEL": "offline", **environ}
    opened = open_app({}, print, config_file=tmp_path / "none.toml", environ=told)
    yield opened
    opened.db.close()


@pytest.fixture
def conversation(app):
    return Conversation(app)
