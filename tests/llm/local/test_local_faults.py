"""What is said when a local model cannot be run."""

import pytest

from agent_cli.errors import ModelFailed, ModelMissing
from agent_cli.llm import local
from agent_cli.llm.local import LocalEngine
from agent_cli.messages import Message

HELLO = [Message("user", "hello")]


@pytest.mark.parametrize(
    ("name", "words"), [("qwen3:8b", "is not a GGUF file"), ("/nowhere/x.gguf", "there is no file /nowhere/x.gguf")]
)
def test_a_model_that_is_no_file_is_named(tmp_path, name, words):
    with pytest.raises(ModelMissing, match=words):
        list(LocalEngine(tmp_path).chat(name).reply(HELLO))


@pytest.mark.skipif(not local.is_installed(), reason="llama.cpp is not installed")
def test_a_file_that_is_not_weights_is_refused_with_the_reason(tmp_path):
    file = tmp_path / "a b.gguf"
    file.write_bytes(b"nonsense")
    engine = LocalEngine(tmp_path / "run", named=(str(file),))
    with pytest.raises(ModelFailed, match=r"cannot be run: .*see .*\.log"):
        list(engine.chat(str(file)).reply(HELLO))
    assert engine.find(str(file)).size == 8


def test_a_record_without_a_process_is_not_believed(tmp_path):
    file = tmp_path / "x.gguf"
    file.write_bytes(b"x")
    launch = LocalEngine(tmp_path).launch(str(file))
    launch.file("json").write_text('{"url": "http://127.0.0.1:9", "key": "old", "pid": 1}')
    launch.file("lock").touch()
    assert local.running(launch) is None


def test_a_file_that_is_made_to_embed_is_known_by_its_metadata(tmp_path):
    file = tmp_path / "x.gguf"
    for metadata, embeds in ((b"GGUF bert.pooling_type", True), (b"GGUF llama.context_length", False)):
        file.write_bytes(metadata)
        assert local.is_made_to_embed(file) is embeds
