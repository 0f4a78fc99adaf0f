"""How things end: turns taken back, sessions closed, old rows let go once summarised. Owns no table."""
