"""A scripted Ollama server on loopback: what the tests talk to in place of a model."""
