"""A client of servers that speak OpenAI's /v1: llama.cpp, LM Studio, vLLM.

Knows `llm` and `llm.server`; owns no tables.
"""
