"""/v1/chat/completions: clients that resend their history gain a memory, and each word is logged once."""

import pytest

from tests.ollama_server import script
from tests.serving import events, heard, last_chat, said
from tests.tables import listed

WHERE = "/v1/chat/completions"


def message(words, role="user"):
    return {"role": role, "content": words}


def ask(caller, *messages, **options):
    headers = options.pop("headers", {})
    return caller.post(WHERE, {"model": "agent", "messages": list(messages), **options}, headers=headers)


def logged(house):
    return house.db.rows("select session_id, role, text from message order by id")


def test_answer_has_the_form_of_openai_and_real_numbers(house, bot, server):
    told = ask(bot, message("hi")).json()
    answer = {"role": "assistant", "content": "heard: hi", "refusal": None}
    assert told["choices"] == [{"index": 0, "message": answer, "logprobs": None, "finish_reason": "stop"}]
    tokens = house.db.row("select tokens_in, tokens_out from message where role = 'assistant'")
    assert told["usage"] == {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    assert tokens[0] > 0 < tokens[1]
    assert (told["object"], told["model"]) == ("chat.completion", "agent")


def test_resent_history_goes_on_in_its_session_and_is_logged_once(house, bot, server):
    talk = [message("I am building a boat.")]
    for words in ("It is called Windrose.", "What is it called?"):
        answer = ask(bot, *talk)
        talk += [answer.json()["choices"][0]["message"], message(words)]
    last = ask(bot, *talk)
    assert last.json()["agent"]["session"] == "s1"
    talked = ["I am building a boat.", "It is called Windrose.", "What is it called?"]
    assert [text for _, role, text in logged(house) if role == "user"] == talked
    assert said(last_chat(server)) == talked


def test_stream_is_found_again_too(house, bot):
    told = events(ask(bot, message("hi"), stream=True, stream_options={"include_usage": True}))
    words = "".join(each["choices"][0]["delta"].get("content", "") for each in told if each["choices"])
    again = ask(bot, message("hi"), message(words, "assistant"), message("and?"))
    assert words == "heard: hi"
    assert told[-1]["usage"]["prompt_tokens"] > 0
    assert [each["choices"][0]["finish_reason"] for each in told if each["choices"]][-1] == "stop"
    assert again.json()["agent"]["session"] == "s1"


def test_another_answer_to_the_same_question_begins_a_session_that_knows_what_came_before(house, bot, server):
    first = [message("one"), message("heard: one", "assistant"), message("two")]
    ask(bot, first[0])
    ask(bot, *first)
    other = ask(bot, *first[:2], message("three"))
    assert other.json()["agent"]["session"] == "s2"
    assert [f"{session} {text}" for session, _, text in logged(house)] == listed("""1 one | 1 heard: one | 1 two
        1 heard: two | 2 one | 2 heard: one | 2 three | 2 heard: three""")
    assert said(last_chat(server)) == ["one", "three"]


def test_conversation_from_elsewhere_is_taken_in_and_goes_on(house, bot, server):
    ask(bot, message("old question"), message("old answer", "assistant"), message("new"))
    again = [message("old question"), message("old  answer\n", "assistant"), message("new")]
    more = ask(bot, *again, message("heard: new", "assistant"), message("newer"))
    assert more.json()["agent"]["session"] == "s1"
    assert [text for _, _, text in logged(house)] == listed("""old question | old answer | new | heard: new | newer
        heard: newer""")
    assert house.db.value("select parts from message where text = 'old answer'") == '[["http", 10]]'


def test_question_that_got_no_answer_is_asked_again_in_its_session(house, bot, server):
    ask(bot, message("one"))
    server.answer = None
    server.play(*[script.error(500, "model runner has unexpectedly stopped")] * 2)
    talk = [message("one"), message("heard: one", "assistant"), message("two")]
    assert ask(bot, *talk).status_code == 502
    server.answer = heard
    assert ask(bot, *talk).json()["agent"]["session"] == "s1"


def test_system_message_is_an_instruction_and_no_memory(house, bot, server):
    ask(bot, message("Speak like a pirate.", "system"), message("hi"))
    [system] = [each["content"] for each in last_chat(server)["messages"] if each["role"] == "system"]
    assert system.endswith("Speak like a pirate.")
    assert "pirate" not in str(logged(house))
    ask(bot, message("hi"), message("heard: hi", "assistant"), message("more"))
    assert "pirate" not in str(last_chat(server))


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ({"messages": [message("hi"), message("yes", "assistant")]}, 400),
        ({"messages": [message("be brief", "system")]}, 400),
        ({"messages": [message(" ")]}, 400),
        ({"messages": []}, 422),
        ({"messages": [message("x", "tool")]}, 422),
        ({"tools": [{"type": "function"}]}, 422),
        ({"n": 2}, 422),
        ({"response_format": {"type": "json_object"}}, 422),
        ({"model": "gpt-5"}, 404),
        ({"messages": [message([{"type": "image_url", "image_url": {"url": "x"}}])]}, 422),
    ],
)
def test_what_cannot_be_done_is_refused_in_openais_form(bot, told, status):
    answer = bot.post(WHERE, {"model": "agent", "messages": [message("hi")], **told})
    assert answer.status_code == status
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}


def test_what_is_about_sampling_is_passed_over(bot):
    assert ask(bot, message("hi"), temperature=0, max_tokens=5, seed=1, user="me", tools=[]).status_code == 200


def test_pieces_of_text_are_one_message(house, bot):
    ask(bot, message([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]))
    assert logged(house)[0] == (1, "user", "a\n\nb")


def test_error_in_a_stream_is_its_last_event(bot, server):
    server.answer = None
    server.play(script.pieces(script.Piece("Well"), then=script.Cut()))
    assert events(ask(bot, message("hi"), stream=True))[-1]["error"]["message"].endswith("what arrived is kept")
