"""Queued background jobs: summaries, learning, indexing, retention, and the worker that runs them.

Owns no tables: the queue is store.jobs. It may know what `agent` knows, but no user interface.
"""
