"""Keys: the bindings of the prompt, pastes, history, single keys for questions, and terminals without a cursor.

It knows prompt-toolkit, the app and the stored prompts (memory.conversations.log); nothing else of `repl`. Owns no
tables.
"""
