"""Language models behind one protocol, `ChatModel` (model.py), and embedders.

Owns no tables and knows nothing of memory: it turns messages into streamed chunks, and texts into vectors. What runs
models is an engine (engine.py): Ollama, a server that speaks /v1, or a process of our own.
"""
