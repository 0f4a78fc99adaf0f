"""A plain statement taken apart by rules, in English and German: "I live in Graz" is (person, lives_in, Graz)."""

from agent_cli.memory.claims import Triple


def parse(statement: str) -> Triple | None:
    """Who, what, whom; None when no rule knows the sentence."""
    return None
