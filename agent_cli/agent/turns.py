"""Running a turn: the one driver behind the prompt, questions beside it, `ask`, schedules and HTTP.

It puts together what each of them needs: the loop, what the program itself notices in the words (see `listener`), the
notice of the model that was chosen, and the session of a question that stands alone.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager

from agent_cli import clock
from agent_cli.agent import listener, loop
from agent_cli.agent.events import Event, Noticed
from agent_cli.agent.loop import Agent
from agent_cli.llm.model import Cancel, ChatModel
from agent_cli.memory.conversations import sessions
from agent_cli.memory.lifecycle import closing as session_closing
from agent_cli.memory.scope import Scope
from agent_cli.messages import Part
from agent_cli.store.db import Database
from agent_cli.tools.tool import ToolContext

ChooseModel = Callable[[], tuple[ChatModel, str]]
"""Gives the model that answers, and a notice or an empty text. Raises AgentError."""


def run(
    choose: ChooseModel,
    make_agent: Callable[[ChatModel], Agent],
    context: ToolContext,
    parts: Sequence[Part],
    options: listener.Ear,
    cancel: Cancel | None = None,
    instead: int | None = None,
) -> Generator[Event, None, None]:
    """The events of one turn, from the person's words on disk to what memory makes of them. Raises AgentError.

    The model is chosen when the words are safe. `instead`: the number of the message that, with all after it, these
    words take the place of. Closing the generator cuts the turn; what arrived is kept.
    """
    notices: list[str] = []

    def agent() -> Agent:
        model, notice = choose()
        if notice:
            notices.append(notice)
        return make_agent(model)

    turn = loop.run_turn(agent, context, parts, cancel, instead)
    with closing(listener.listen(turn, context, parts, options)) as events:
        for event in events:
            while notices:
                yield Noticed(notices.pop(0))
            yield event


@contextmanager
def one_shot(db: Database, scope: Scope, time: clock.Clock, kind: str, title: str = "") -> Iterator[int]:
    """The number of a session for one question, which is over when that is answered, or is not."""
    session = sessions.start(db, scope, time(), kind)
    if title:
        sessions.rename(db, session, title)
    try:
        yield session
    finally:
        session_closing.end_one_shot(db, session, time)
