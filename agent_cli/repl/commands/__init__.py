"""The slash commands, one function each, in modules by subject; help, completion and docs/ use their registry.

They know the conversation, the app and memory; the shell carries out their results. Owns no tables.
"""
