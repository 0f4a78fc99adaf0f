"""Turns: what the model sees, the loop of replies and tool calls, recall for a prompt, and the events of a turn."""
