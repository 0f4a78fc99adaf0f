"""What all servers of models have in common: addresses, requests, errors, retries, replies and embeddings; and the
protocol of an engine. Knows `llm`; owns no tables.
"""
