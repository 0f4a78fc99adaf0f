"""The commands of the program, imported by the command that is run. May know all below; only `__main__` knows it."""
