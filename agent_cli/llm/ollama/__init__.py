"""A client of Ollama's HTTP API: chat, embeddings, the server's models, and its errors. Knows `llm`; owns no tables."""
