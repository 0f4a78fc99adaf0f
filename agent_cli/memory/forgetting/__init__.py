"""Erases selected rows with everything derived from them, and checks the files for traces. Owns no table."""
