"""Language models behind one protocol, `ChatModel`, and embedders. Knows nothing of memory."""
