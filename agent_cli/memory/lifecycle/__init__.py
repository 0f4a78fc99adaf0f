"""How records end: turns are taken back, sessions are closed, old rows are deleted once summarised.

Owns no table; asks the owners of messages, summaries, facts and tasks to delete theirs. Knows no model.
"""
