"""How records end: turns are undone, sessions are closed, old rows are deleted once summarised. Owns no table."""
