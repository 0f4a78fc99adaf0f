"""Faults of the disk, put between the program and its files: calls that fail, kills and power cuts at each write.

commands: what is run, in a home made for it; shim: the compiled library; injection: one fault and what is left after
it; run: all of them, counted.
"""
