"""The interactive session itself: its loop, and how turns are drawn. Knows the whole of `repl`; `cli` starts it."""
