"""Work that may wait, done between turns: summaries, learning, indexing. It knows the turn and memory, and no screen."""
