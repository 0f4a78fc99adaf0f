"""The commands of the program: one module for each group, or for several that belong together.

Owns no tables. It may know everything below: the app, the conversation (repl), the server, memory and rendering; only
`__main__` knows it. Modules are imported by the command that is run, since start-up time is a feature.
"""
