"""Titles of conversations."""

from agent_cli.memory.language import statements
from tests.tables import for_each


@for_each(
    ("messages", "title"),
    [
        (["what is it?"], "what is it?"),
        (["Hello!", "thanks", "how do I reset the router?"], "how do I reset the router?"),
        (["hello there"], "hello there"),
        (["Hi there, can you help me with my tax return? It is due on Monday."], "My tax return"),
        (["please tell me about the harbour of Trieste"], "The harbour of Trieste"),
        (["Hallo, kannst du mir erklären wie ein Vergaser funktioniert?"], "Wie ein Vergaser funktioniert?"),
        (["Good restaurants in Linz"], "Good restaurants in Linz"),
        (["So what about the boat?"], "So what about the boat?"),
        ([], ""),
        (["x" * 100], "x" * 59 + "…"),
        (
            ["which of the two trains to Graz stops at the airport, and when does the first leave?"],
            "which of the two trains to Graz stops at the airport, and…",
        ),
    ],
)
def test_a_title_is_what_the_first_messages_ask(messages, title):
    assert statements.topic_of_messages(messages) == title


@for_each(
    ("summary", "title"),
    [
        ("The user asked how to reset the router, and the assistant explained it.", "Reset the router"),
        ("The user wanted to know about trains to Linz. They leave at eight.", "Trains to Linz"),
        ("You talked about the garden; beans come in May.", "The garden"),
        ("Beans come in May.", ""),
    ],
)
def test_a_title_is_what_a_summary_says_was_asked(summary, title):
    assert statements.topic_of_summary(summary) == title
