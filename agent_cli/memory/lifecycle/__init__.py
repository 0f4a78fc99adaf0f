"""How records end: turns are taken back, sessions closed, old rows deleted once summarised. Owns no table."""
