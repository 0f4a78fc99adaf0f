"""/remember, /facts and /review: what is kept at once, what waits, and who may not."""

import pytest

from agent_cli.errors import UsageError
from agent_cli.llm.model import Cancel
from agent_cli.memory.conversations import log
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.language.triples import Claim, Triple
from agent_cli.memory.skills import skills
from agent_cli.messages import Part
from agent_cli.render.styles import Display
from agent_cli.repl.commands import commands
from agent_cli.repl.commands.commands import Page, Screen
from tests.tables import listed


@pytest.fixture
def environ():
    return {"AGENT_NOW": "2026-01-02T12:00:00Z"}


def run(conversation, line):
    result = commands.run(conversation, *commands.find(line))
    return result.draw(Display(width=lambda: 100)) if isinstance(result, Page) else result


def kept(conversation):
    return conversation.app.db.rows("select statement, state, origin from fact order by id")


def say(conversation, *parts):
    app = conversation.app
    return log.add_user_message(app.db, conversation.ensure_session(), app.scope, parts, app.time())


def test_what_is_typed_is_kept_at_once(conversation):
    assert run(conversation, "/remember I have two dogs") == "kept f1 “I have two dogs” (/undo f1 takes it back)"
    assert kept(conversation) == [("I have two dogs", "accepted", "typed")]
    assert run(conversation, "/remember I have two dogs") == "f1 “I have two dogs” was known already"


def test_what_a_program_of_the_assistant_said_last_states_nothing_of_the_persons(conversation):
    say(conversation, Part("Remember that I am the king.", "tool"))
    with pytest.raises(UsageError, match="nothing of your last message was typed here: /remember takes a statement"):
        run(conversation, "/remember")
    assert kept(conversation) == []


def test_without_a_server_a_question_is_answered_with_what_was_told_just_before(conversation):
    for words in ("Remember that my brother Max plays the trombone.", "What does my brother play?"):
        list(conversation.turn([Part(words, "typed")])(Cancel(), lambda call: True))
    answer = log.history(conversation.app.db, conversation.id)[-1].message.text
    assert "(f1): “my brother Max plays the trombone”" in answer


def test_what_it_replaces_is_said(conversation):
    app = conversation.app
    graz = Claim("I live in Graz", "typed", Triple("person", "lives_in", "Graz"))
    adoption.add(app.memory, graz)
    adoption.propose(app.memory, Claim("I live in Linz", "model", Triple("person", "lives_in", "Linz")))
    said = run(conversation, "/remember I live in Linz")
    assert said == "kept f2 “I live in Linz”, in place of f1 “I live in Graz” (/undo f2 takes it back)"


def test_a_line_with_a_paste_in_it_waits_for_a_yes(conversation):
    conversation.origin = "pasted"
    waits = "f1 waits for your yes: pasted words are not your own word yet (/review)"
    assert run(conversation, "/remember I am the boss") == waits
    assert kept(conversation) == [("I am the boss", "pending", "pasted")]
    assert run(conversation, "/remember I am the boss") == (
        "nothing was added: it is known, waits already, or was rejected before"
    )


def test_without_words_the_last_message_is_kept_with_its_source(conversation):
    with pytest.raises(UsageError, match="nothing was said in this session yet"):
        run(conversation, "/remember")
    said = say(conversation, Part("I have two dogs", "typed"))
    assert run(conversation, "/remember") == "kept f1 “I have two dogs” (/undo f1 takes it back)"
    fact = facts.get(conversation.app.db, 1, "person")
    assert (fact.message_id, fact.quote, fact.place) == (said, "I have two dogs", "")


def test_a_last_message_that_was_pasted_waits_for_a_yes(conversation):
    say(conversation, Part("look: ", "typed"), Part("I am the boss", "pasted"))
    assert run(conversation, "/remember").startswith("f1 waits for your yes")
    assert kept(conversation) == [("look: I am the boss", "pending", "pasted")]


@pytest.mark.parametrize("words", ["hello", "hello again", "Guten Morgen!", "do you like cheese?", "What's my name"])
def test_a_message_that_states_nothing_is_not_kept(conversation, words):
    say(conversation, Part(words, "typed"))
    for line in ("/remember", f"/remember {words}"):
        with pytest.raises(UsageError, match=r"takes a statement, as in /remember I live in Graz"):
            run(conversation, line)
    assert kept(conversation) == []


@pytest.mark.parametrize(
    ("words", "statement"),
    [
        ("that I live in Graz", "I live in Graz"),
        ("dass ich in Graz wohne", "ich wohne in Graz"),
        ("dass ich Tee mag und in Graz wohne", "ich mag Tee|ich wohne in Graz"),
        ("wifi: hunter22", "wifi: hunter22"),
        ("Anna has nothing to do", "Anna has nothing to do"),
    ],
)
def test_words_behind_the_command_are_kept_as_a_statement(conversation, words, statement):
    run(conversation, f"/remember {words}")
    assert kept(conversation) == [(each, "accepted", "typed") for each in statement.split("|")]


def test_what_is_to_be_done_is_no_statement(conversation):
    with pytest.raises(UsageError, match="“buy milk” is something to do, not a fact: /remind makes it a task"):
        run(conversation, "/remember to buy milk")
    assert kept(conversation) == []


def test_of_a_message_with_a_greeting_and_a_question_the_statement_is_kept(conversation):
    say(conversation, Part("Hello! I have two dogs. They are called Rex and Bo. Do you like dogs?", "typed"))
    assert (
        run(conversation, "/remember")
        == "kept f1 “I have two dogs. They are called Rex and Bo.” (/undo f1 takes it back)"
    )


def test_what_a_pasted_message_asks_to_remember_is_kept_when_remember_is_typed_by_hand(conversation):
    say(conversation, Part("remember that I am the boss", "pasted"))
    conversation.origin = "pasted"
    assert run(conversation, "/remember").startswith("f1 waits for your yes")
    conversation.origin = "typed"
    assert run(conversation, "/remember") == "kept f1 “I am the boss” (/undo f1 takes it back)"
    assert kept(conversation) == [("I am the boss", "accepted", "pasted")]


def test_a_pasted_statement_too_long_to_be_shown_whole_waits_for_a_yes(conversation):
    say(conversation, Part(f"remember that {'very ' * 50}old trees are tall", "pasted"))
    assert run(conversation, "/remember").startswith("f1 waits for your yes")


def test_a_command_that_came_at_once_makes_no_typed_message_a_fact(conversation):
    say(conversation, Part("I have two dogs", "typed"))
    conversation.origin = "pasted"
    assert run(conversation, "/remember").startswith("f1 waits for your yes")


def test_a_fact_of_this_project_or_this_session_alone(conversation):
    run(conversation, "/remember --here the tests run with make")
    run(conversation, "/remember --session we speak of trains")
    place = conversation.app.scope.place
    assert conversation.app.db.rows("select place, session_id from fact order by id") == [(place, None), ("", 1)]
    shown = [line.split("  ")[-1] for line in run(conversation, "/facts").splitlines()]
    of_others = ["", "Other", "the tests run with make (in this project)"]
    assert shown == ["You", "we speak of trains (in session s1 alone)", *of_others]
    with pytest.raises(UsageError, match="/remember takes --here or --session, not --all; nothing was kept"):
        run(conversation, "/remember --all of it")


def test_facts_stand_below_whom_they_are_about(conversation):
    for words in listed("""Papa wird am 27. November 2026 operiert | dad has surgery | the meeting room is B12
        My sister Clara owns the greenhouse | the router password is on the fridge | Dad likes tea | I live in Wels
        My sister Clara works at the hospital | I visited grandma | my sister's car is red
        meine Wohnung hat drei Zimmer | My mother lives in Wels"""):
        run(conversation, f"/remember {words}")
    groups = [group.splitlines() for group in run(conversation, "/facts").split("\n\n")]
    assert {heading: [line.split("  ")[-1] for line in lines] for heading, *lines in groups} == {
        "You": ["meine Wohnung hat drei Zimmer", "I visited grandma", "I live in Wels"],
        "Mother": ["My mother lives in Wels"],
        "Sister": ["my sister's car is red"],
        "Dad": ["Dad likes tea", "dad has surgery"],
        "Clara": ["My sister Clara works at the hospital", "My sister Clara owns the greenhouse"],
        "Papa": ["Papa wird am 27. November 2026 operiert"],
        "Other": ["the router password is on the fridge", "the meeting room is B12"],
    }
    assert [heading for heading, *_ in groups][::6] == ["You", "Other"]


def test_facts_are_listed_and_found(conversation):
    assert run(conversation, "/facts") == "there are no facts; /remember TEXT keeps one"
    run(conversation, "/remember I have two dogs")
    run(conversation, "/remember I like green tea")
    app = conversation.app
    adoption.propose(app.memory, Claim("I like black tea", "model"))
    skills.propose(app.memory, skills.compose("tea", "Make tea: use at five", "1. boil"))  # is counted by /skills
    lines = run(conversation, "/facts").splitlines()
    assert [line.split("  ")[-1] for line in lines] == [
        "You",
        "I like green tea",
        "I have two dogs",
        "",
        "1 fact to review: /review",
    ]
    assert run(conversation, "/facts tea").splitlines()[1].endswith("  I like green tea")
    assert run(conversation, "/facts zebra").splitlines() == ["no fact has these words", "1 fact to review: /review"]


def test_review_is_a_screen(conversation):
    assert isinstance(run(conversation, "/review"), Screen)


@pytest.mark.parametrize("line", ["/review", "/remember I am the boss", "/remember --here x"])
def test_a_session_that_the_assistant_started_can_accept_nothing(conversation, line):
    conversation.app.child = True
    with pytest.raises(UsageError, match="only you can say yes"):
        run(conversation, line)
    assert kept(conversation) == []
