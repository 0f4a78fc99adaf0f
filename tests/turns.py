"""Turns with a scripted model, for the tests of the agent."""

from collections.abc import Mapping
from typing import Any

from agent_cli.agent.events import TextArrived
from agent_cli.agent.loop import Question, run_turn
from agent_cli.agent.model_context import Agent
from agent_cli.errors import AgentError
from agent_cli.llm.model import Cancel
from agent_cli.llm.offline import Reply, ScriptedModel
from agent_cli.memory.conversations import log
from agent_cli.memory.lifecycle import closing
from agent_cli.memory.summaries import summaries
from agent_cli.messages import Message, Part
from agent_cli.tools.registry import BUILT_IN
from tests.conftest import NOON, noon


class Chunks:
    """A model that gives these chunks, a list for each request; an exception among them is raised."""

    name = "chunks"

    def __init__(self, *replies):
        self._replies = iter(replies)
        self.requests = []
        self.thinking = []

    def reply(self, messages, tools=(), *, think=None, format=None, limit=None, cancel=None):
        self.requests.append(list(messages))
        self.thinking.append(think)
        for chunk in next(self._replies):
            if isinstance(chunk, BaseException):
                raise chunk
            yield chunk


def agent(*replies, approve=lambda call: True, tools=BUILT_IN, **settings):
    """An agent whose model plays these replies: a text is said, anything else is a Reply."""
    script = [Reply(say=reply) if isinstance(reply, str) else reply for reply in replies]
    return Agent(ScriptedModel(script), tools, approve, **settings)


def chunks(*replies, **settings):
    """An agent whose model gives these chunks."""
    return Agent(Chunks(*replies), BUILT_IN, lambda call: True, **settings)


def calls(*names, **options):
    """A reply that calls tools by name, or by (name, arguments)."""
    return Reply(calls=tuple(name if isinstance(name, tuple) else (name, {}) for name in names), **options)


def turn(agent, context, words="hello", cancel=None):
    """The events of one turn, as an iterator."""
    cancel = Cancel() if cancel is None else cancel
    return run_turn(lambda: (agent, ""), Question(context, [Part(words, "typed")], cancel=cancel))


def run(agent, context, words="hello"):
    """The events of one turn, all of them."""
    return list(turn(agent, context, words))


def text_of(events):
    """The words that were shown."""
    return "".join(event.text for event in events if isinstance(event, TextArrived))


def logged(context):
    """What the log has of the session: role, text, and how it ended."""
    return [
        (entry.message.role, entry.message.text, entry.finish) for entry in log.history(context.db, context.session)
    ]


def unanswered(context):
    """Calls that no tool message answers."""
    return context.db.rows(
        """select c.call_id from tool_call c join message m on m.id = c.message_id
           where not exists (select 1 from message a where a.session_id = m.session_id and a.answers = c.call_id)"""
    )


def asked(context, words):
    """What the person says in the session."""
    log.add_user_message(context.db, context.session, context.scope, [Part(words, "typed")], NOON)


def replied(context, words, finish="stop", calls=(), model="m"):
    """What is answered in it, or has begun to be where there is no `finish`."""
    id = log.open_reply(context.db, context.session, context.scope, model, NOON)
    if finish:
        log.close_reply(context.db, id, Message("assistant", words, calls), finish, log.Usage(model), NOON)
    else:
        log.update_reply(context.db, id, words, "")


def summarise(db, session, words, method="model", model="m", time=noon):
    """Give a session a summary in these words, as closing it would."""
    made = summaries.compose(db, session, words, method, model)
    with db.write():
        return made and summaries.save_session(db, session, made, time)


def close_with(db, session, words, method="model", rounds=None):
    """Close a session with a summary in these words."""
    name = "m" if method == summaries.MODEL else ""
    closing.close_with(db, session, summaries.compose(db, session, words, method, name), noon, rounds)


class Answers:
    """A cheap model that gives these answers and keeps what it was asked; one may be an error or do something first."""

    name = "cheap"
    schema: Mapping[str, Any] = {}  # after which each answer is asked for

    def __init__(self, *answers):
        self._answers = list(answers)
        self.asked = []

    def reply(self, messages, tools=(), *, think=None, format=None, limit=None, cancel=None):
        assert (list(tools), format, think) == ([], self.schema, False)
        self.asked.append(messages[0].content)
        answer = self._answers.pop(0)
        if isinstance(answer, AgentError):
            raise answer
        yield from ScriptedModel([Reply(say=answer() if callable(answer) else answer)]).reply(messages)
