"""The interactive session: the conversation and what is said around it, reminders, pages of what is remembered, review.

The modules of this folder know the app, memory and `repl.keyboard`, but neither the commands nor the shell, which use
them. Owns no tables.
"""
