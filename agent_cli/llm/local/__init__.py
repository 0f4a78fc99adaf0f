"""Models that run in a process of this program's own: a GGUF file, llama.cpp (package xllamacpp), and /v1 on loopback.

One process for each file of weights serves all of a person's programs. Knows `llm`, `llm.server` and `llm.openai`;
owns no tables.
"""
