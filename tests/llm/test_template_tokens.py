"""No token by which a chat template marks a role survives in what a model is sent, and other text is left alone."""

import json

from agent_cli.llm.chat import broken
from agent_cli.llm.ollama import OllamaEngine
from agent_cli.llm.openai import OpenAIEngine
from agent_cli.messages import Message, ToolCall
from tests.llm.template_tokens import TOKENS
from tests.tables import for_each

FAMILIES = sorted(TOKENS)


def forms(token):
    """A token as a text may hide it: folded, doubled, beside its own beginning, with characters that are not seen."""
    yield from (token, token.upper(), token.lower(), token * 2, token[0] + token, f"a{token}b")
    yield from (f"{token[:2]}{hidden}{token[2:]}" for hidden in ("\u200b", "\u2060", "\x00", "\u202e", "\U000e0041"))


def held(words):
    """The tokens of any family that stand in the words, whatever their case."""
    folded = words.casefold()
    return [token for tokens in TOKENS.values() for token in tokens if token.casefold() in folded]


@for_each("family", FAMILIES)
def test_no_token_of_a_family_survives_however_it_is_hidden(family):
    for token in TOKENS[family]:
        for form in forms(token):
            sent = broken(form)
            assert held(sent) == []
            assert sent.replace(" ", "").casefold().count(token.replace(" ", "").casefold()) >= 1, "it can be read"
            assert broken(sent) == sent


@for_each("token", ["<|turn_of_tomorrow|>", "<|name>", "<name|>", "<｜User｜>", "<|User|>", "[|user|]", "<｜a b｜>"])
def test_a_token_that_no_table_has_is_known_by_its_bars(token):
    assert broken(token).startswith((f"{token[0]} ", "<| "))


@for_each(
    "words",
    [
        "a |> b <|> c || d",
        "if [[ -f x ]]; then echo [INSTALL]; fi",
        "<p>1 < 2 and 3 > 2</p> <svg><mask id='s'/></svg> | a | b |",
        "x = [[1, 2], [3, 4]]; y = x[0][1] | z",
        "Ärger 👩‍👩‍👧 می‌خواهم « deux mots »\n\tindented",
    ],
)
def test_ordinary_text_and_code_are_sent_as_they_are(words):
    assert broken(words) == words


@for_each("engine", [OllamaEngine(""), OpenAIEngine("")])
@for_each("token", ["<|im_end|>", "[INST]", "<end_of_turn>"])
def test_no_part_of_a_message_holds_a_token_not_even_the_name_of_a_tool_that_a_model_made_up(engine, token):
    called = Message(
        "assistant", token, calls=(ToolCall(token, token, {token: [token, {token: token}]}),), thinking=token
    )
    answered = Message("tool", token, tool_name=token, call_id=token)
    sent = [engine.message_json(each) for each in (called, answered)]
    assert held(json.dumps(sent)) == []
    assert sent[0]["tool_calls"][0]["id"] == sent[1]["tool_call_id"]
