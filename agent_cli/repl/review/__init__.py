"""The review of proposals that wait for approval: the screen and its text.

It knows memory.review, which decides and stores; of `repl` only the keyboard. Owns no tables.
"""
