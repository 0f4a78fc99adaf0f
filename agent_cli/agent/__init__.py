"""The loop: what the model sees, what it may do, when it stops."""
