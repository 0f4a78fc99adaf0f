"""Queued background jobs: summaries, learning, indexing, retention, and the worker that runs them.

`worker` finds the function of a job by its kind and learns facts and skills; sessions are summarised in `summariser`.
Jobs are queued where the need arises: for a closed session in memory/lifecycle/closing.py.

Owns no tables: the queue is store.jobs. It may know what `agent` knows, but no user interface.
"""
