"""Running a turn: the one driver behind the prompt, side questions, `ask`, schedules and HTTP.

It joins the loop, what the program itself captures (see `listener`), the notice of the chosen model, and the session of
a single question.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager

from agent_cli import clock
from agent_cli.agent import listener, loop
from agent_cli.agent.events import Event, Noticed
from agent_cli.agent.loop import Agent
from agent_cli.llm.model import Cancel, ChatModel
from agent_cli.memory.conversations import sessions
from agent_cli.memory.conversations.capture import CaptureOptions
from agent_cli.memory.lifecycle import closing as session_closing
from agent_cli.memory.scope import Scope
from agent_cli.messages import Part
from agent_cli.store.db import Database
from agent_cli.tools.tool import ToolContext

ChooseModel = Callable[[], tuple[ChatModel, str]]
"""Returns the model that answers, and a notice or an empty text. Raises AgentError."""


def run(
    choose: ChooseModel,
    make_agent: Callable[[ChatModel], Agent],
    context: ToolContext,
    parts: Sequence[Part],
    options: CaptureOptions,
    cancel: Cancel | None = None,
    replaced_message: int | None = None,
) -> Generator[Event, None, None]:
    """The events of one turn, with notices about the model and memory. Raises AgentError.

    The model is chosen once the message is in the log. `replaced_message`: the number of a message that, with all later
    ones, this message replaces. Closing the generator ends the turn; the text that has arrived stays in the log.
    """
    notices: list[str] = []

    def agent() -> Agent:
        model, notice = choose()
        if notice:
            notices.append(notice)
        return make_agent(model)

    turn = loop.run_turn(agent, context, parts, cancel, replaced_message)
    with closing(listener.listen(turn, context, parts, options)) as events:
        for event in events:
            while notices:
                yield Noticed(notices.pop(0))
            yield event


@contextmanager
def one_shot(
    db: Database, scope: Scope, time: clock.Clock, kind: str, title: str = "", terminal: str | None = None
) -> Iterator[int]:
    """The number of a session for one question; the session ends with the block, whether or not it was answered."""
    session = sessions.start(db, scope, time(), kind, terminal)
    if title:
        sessions.rename(db, session, title)
    try:
        yield session
    finally:
        session_closing.end_one_shot(db, session, time)
