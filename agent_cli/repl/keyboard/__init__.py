"""Keys: the bindings of the prompt, pastes, single keys for questions, a choice from a list, and terminals without a
cursor. It knows prompt-toolkit, and nothing else of `repl`. Owns no tables.
"""
