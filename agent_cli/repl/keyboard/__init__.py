"""Keys: what was typed or pasted, single keys for questions, history, and terminals that can do little."""
