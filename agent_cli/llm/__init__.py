"""Language models behind one protocol, `ChatModel` (model.py), and embedders.

Owns no tables and knows nothing of memory: it turns messages into streamed chunks, and texts into vectors. The server's
protocol is in `ollama`; without a server there are the offline, the scripted and the embedded ones here.
"""
