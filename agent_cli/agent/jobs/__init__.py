"""Jobs: summaries, learning, indexing, retention, and the worker. Jobs are queued where the need arises."""
