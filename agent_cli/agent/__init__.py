"""Turns: what the model sees, the loop of replies and tool calls, recall for a prompt, and the events of a turn.

Owns no tables. It may know tools, memory, the store and models, but no user interface.
"""
