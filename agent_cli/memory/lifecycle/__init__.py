"""How records end: turns are taken back, sessions are closed, old rows are deleted once summarised.

`closing` closes a session, writes an extract as its summary and queues the job by which a model summarises it.

Owns no table; asks the owners of messages, summaries, facts and tasks to delete theirs. Knows no model.
"""
