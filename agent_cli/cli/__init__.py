"""The commands a shell sees: one module for each group."""
