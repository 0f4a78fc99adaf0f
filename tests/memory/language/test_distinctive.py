"""Whether a sentence is about a topic that is forgotten."""

from agent_cli.memory.language import distinctive
from tests.tables import for_each


@for_each(
    ("topic", "sentence", "about"),
    [
        ("Anna's birthday", "For the birthdays of Anna we bake a cake.", True),
        ("Anna's birthday", "Anna bakes a cake.", False),
        ("茶道", "昨日は茶道でした。", True),
        ("教室 茶道", "茶道の教室へ行った。", True),
        ("教室 茶道", "教室へ行った。", False),
        ("茶道 lesson", "茶道 was the first of two lessons.", True),
        ("茶道 lesson", "The lesson on knots was short.", False),
        ("?", "What is it?", True),
        ("", "What is it?", False),
    ],
)
def test_a_sentence_is_about_a_topic_when_it_has_all_its_words(topic, sentence, about):
    def stems(words):
        return [word.strip("'s.").casefold() for word in words.split()]

    assert distinctive.topic_matcher(topic, stems)(sentence) is about
