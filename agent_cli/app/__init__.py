"""One run of the program: settings, database, models and tools, joined for the command line, the prompt and the server.

Owns no tables. It may know everything but these three.
"""
