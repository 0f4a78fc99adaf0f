"""The state of a conversation and what can be done with it, without drawing."""
