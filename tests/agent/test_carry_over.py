"""What a session is told of earlier ones, and how much of it."""

from agent_cli import text
from agent_cli.agent import carry_over, loop, model_context
from agent_cli.agent.carry_over import Opening
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.lifecycle import closing
from agent_cli.memory.scope import Scope
from agent_cli.messages import ToolCall, ToolResult
from tests.conftest import HERE, NOON, noon
from tests.turns import agent, asked, close_with, replied


def carried(context):
    return carry_over.compose(context.db, HERE, NOON)[0]


def test_a_summary_is_carried_over_with_the_details_that_it_does_not_say(context):
    asked(context, "The router is at 192.168.178.1, its cellar shelf has the number 4711, see ~/net/router.md")
    replied(context, "I see.")
    close_with(context.db, context.session, "The router is at 192.168.178.1.")
    assert carried(context).summaries == (
        "- 02 January 2026 (s1): The router is at 192.168.178.1. "
        "Word for word: cellar shelf has the number 4711; see ~/net/router.md",
    )


def test_of_many_details_only_whole_ones_are_carried_over(context):
    asked(context, " ".join(f"/srv/data/volume-{number}/archive" for number in range(9)))
    close_with(context.db, context.session, "They spoke of archives.")
    (line,) = carried(context).summaries
    lifted = line.partition("Word for word: ")[2]
    assert 90 < len(lifted) <= 120
    assert {each.endswith("/archive") for each in lifted.split("; ")} == {True}


def test_a_question_that_got_no_answer_or_whose_tools_ran_when_the_program_was_killed_is_marked(context):
    asked(context, "First?")
    replied(context, "m1 (02 Jan 2026) something", model="offline")
    assert carried(context).messages == ("person: First?",)
    replied(context, "One.")
    asked(context, "Second?")
    assert carried(context).messages == ("person: First?", "assistant: One.", "person: Second? [got no answer]")
    call = ToolCall("1", "search_notes", {"query": "x"})
    replied(context, "", calls=(call,))
    log.add_tool_result(context.db, context.session, HERE, call, ToolResult("no note has these words"), NOON)
    assert carried(context).messages == ("person: First?", "assistant: One.", "person: Second? [got no answer]")
    asked(context, "Remember that I live in Graz.")  # a receipt has answered it
    assert carried(context).messages[-1] == "person: Remember that I live in Graz."


def test_an_answer_that_the_program_did_not_live_to_finish_is_marked(context):
    asked(context, "First?")
    replied(context, "It is", finish=None)
    assert carried(context).messages == ("person: First?", "assistant: It is [cut off here]")
    closing.close(context.db, context.session, noon)
    log.repair(context.db, context.session, HERE, NOON)
    assert carried(context).messages == ("person: First?", "assistant: It is [cut off here]")


def test_what_is_kept_is_read_as_it_was_put_together(context):
    full = Opening(
        ("- a", "- b"), "The end of the previous session (s1, 02 January 2026):", ("person: c", "assistant: d")
    )
    cases = [full, Opening(full.summaries), Opening((), full.previous, full.messages), Opening()]
    assert [carry_over.parse(each.text) for each in cases] == cases
    assert [each.text.count("⟦") for each in cases] == [each.text.count("⟧") for each in cases] == [1, 1, 1, 0]


def giant(context, sessions_):
    """Sessions with giant messages and summaries; the last one is followed by a new one."""
    for number in range(sessions_):
        for line in range(12):
            asked(context, f"Question {line}: " + "многа слов " * 300)
            replied(context, f"Answer {line}: " + "word " * 900)
        close_with(context.db, context.session, f"Summary {number}: " + "долгая история " * 200)
        context = type(context)(context.db, sessions.start(context.db, HERE, NOON), HERE, noon)
    return context


def test_over_its_budget_the_oldest_messages_go_first_and_then_the_oldest_summaries(context):
    current = giant(context, 6)
    whole = carried(current)
    assert (len(whole.summaries), len(whole.messages)) == (5, 20)
    assert text.tokens(whole.text) > 9000

    def counted(num_ctx):
        shown = carry_over.fit_context(whole, num_ctx)
        assert text.tokens(shown.text) <= num_ctx // 4
        assert whole.summaries[len(whole.summaries) - len(shown.summaries) :] == shown.summaries
        left = whole.messages[len(whole.messages) - len(shown.messages) :]
        assert all(line.startswith(each.partition(" … ")[0]) for line, each in zip(left, shown.messages, strict=True))
        return len(shown.summaries), len(shown.messages)

    assert counted(100_000) == (5, 20)
    assert counted(32_768)[0] == 5
    assert 0 < counted(32_768)[1] < 20
    assert counted(8192) == (1, 0)
    assert counted(1024) == (0, 0)


def test_a_request_keeps_to_the_budget_and_says_it_with_the_same_bytes(context):
    current = giant(context, 6)
    loop.prepare_session(current)
    asked(current, "And now?")
    first = model_context.build(agent(num_ctx=16_384), current)
    replied(current, "Now.")
    asked(current, "And then?")
    second = model_context.build(agent(num_ctx=16_384), current)
    assert first.messages[1].before == second.messages[1].before
    assert 1000 < first.sizes["summaries"] + first.sizes.get("last session", 0) <= 16_384 // 4 + 1
    assert "And now?" in first.messages[1].content


def test_nothing_of_another_person_or_place_is_carried_over(context):
    asked(context, "First?")
    close_with(context.db, context.session, "A summary.")
    assert carry_over.compose(context.db, Scope("somebody else", HERE.place), NOON) == (Opening(), None)
    assert carry_over.compose(context.db, Scope(HERE.owner, "/elsewhere"), NOON) == (Opening(), None)


def test_messages_are_carried_whole_where_they_fit_and_a_cut_one_says_so(context):
    long = " ".join(f"step {number} of the recipe." for number in range(90))
    asked(context, long)
    replied(context, "That is all of it.")
    asked(context, f"And once more: {long}")
    whole = carried(context)
    assert carry_over.fit_context(whole, 32_768).messages[0] == f"person: {long}"
    short = carry_over.fit_context(whole, 4096).messages
    assert short[0].endswith(" … [shortened]")
    assert short[1] == "assistant: That is all of it."
    assert short[2].endswith(" … [shortened] [got no answer]")


def test_a_session_in_a_new_folder_begins_with_what_was_said_elsewhere(context):
    asked(context, "First?")
    close_with(context.db, context.session, "A summary.")
    opening, previous = carry_over.compose(context.db, Scope(HERE.owner, "/new"), NOON, everywhere=True)
    assert opening.summaries == ("- 02 January 2026 (s1): A summary.",)
    assert opening.messages == ("person: First? [got no answer]",)
    assert previous.id == context.session
