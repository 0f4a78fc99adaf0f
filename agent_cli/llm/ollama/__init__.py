"""A model server that speaks Ollama's HTTP API: chat, embeddings, its models, and what can go wrong."""
