"""The line at which a person types: completion, attached files, and the preview of what memory will add.

It knows `repl.keyboard`, the registry of slash commands, the app and the agent's recall. Owns no tables.
"""
