"""A terminal assistant that remembers."""

__version__ = "0.1.0"
CHILD = "AGENT_CHILD"  # in the environment of every process that the assistant has started
