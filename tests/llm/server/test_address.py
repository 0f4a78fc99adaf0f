"""The address of the model server is read as Ollama reads OLLAMA_HOST."""

import pytest

from agent_cli.errors import ConfigError
from agent_cli.llm import http
from tests.tables import for_each


@for_each(
    ("value", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("  ", "http://127.0.0.1:11434"),
        ('"127.0.0.1:8080"', "http://127.0.0.1:8080"),
        (" 'my-server' ", "http://my-server:11434"),
        ("1.2.3.4", "http://1.2.3.4:11434"),
        ("1.2.3.4:", "http://1.2.3.4:11434"),
        (":56789", "http://127.0.0.1:56789"),
        ("http://1.2.3.4", "http://1.2.3.4:80"),
        ("https://example.com", "https://example.com:443"),
        ("HTTPS://example.com:8443/", "https://example.com:8443"),
        ("example.com:56789/ollama/", "http://example.com:56789/ollama"),
        ("::1", "http://[::1]:11434"),
        ("[::1]", "http://[::1]:11434"),
        ("[0001:002:003:0004::1]:56789", "http://[0001:002:003:0004::1]:56789"),
        ("http://[::1]/", "http://[::1]:80"),
    ],
)
def test_address_is_read_as_ollama_reads_it(value, url):
    assert http.parse_address(value).url == url


@for_each(
    ("value", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("http://0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("::", "http://[::1]:11434"),
        ("[::]:8080", "http://[::1]:8080"),
    ],
)
def test_every_interface_to_listen_on_is_this_machine_to_call(value, url):
    assert http.parse_address(value).url == url


@for_each(
    "value",
    [
        "localhost:port",
        "localhost:0",
        "localhost:65536",
        "localhost:123456789",
        "localhost:-1",
        "localhost:١٢",
        "ftp://localhost",
        "my server",
        "me:secret@host",
        "http://me@host:80",
        "[::1",
        "host/with?query",
        "ho\nst",
    ],
)
def test_address_that_cannot_be_meant_is_refused_with_an_example(value):
    with pytest.raises(ConfigError) as raised:
        http.parse_address(value)
    assert repr(value) in str(raised.value)
    assert "127.0.0.1:11434" in str(raised.value)
