"""One turn without a screen: the loop, context, policy and audit of `agent ask`, for words that nobody watches.

Nobody can be asked here either: what would need the person's yes is refused and said. How it ended is a value, errors
too; only being stopped is raised.
"""

from collections.abc import Callable, Sequence
from contextlib import closing as closed_after
from dataclasses import replace

from agent_cli.agent import loop
from agent_cli.agent.events import Asked, Event, Noticed, TextArrived, TextWasThinking, ToolFinished, TurnEnded
from agent_cli.agent.policy.policy import Approve
from agent_cli.app.app import App
from agent_cli.errors import AgentError, Cancelled
from agent_cli.llm.model import Cancel
from agent_cli.memory.conversations import sessions
from agent_cli.memory.lifecycle import closing
from agent_cli.messages import Part, ToolCall
from agent_cli.values import frozen


@frozen
class Outcome:
    """How a turn ended. An answer without an error is whole but for what `finish` and `stopped_by` say."""

    session: int
    answer: str = ""
    finish: str = ""
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    stopped_by: str = ""  # the guard's reason, or empty
    notices: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()  # the names of tools that would have needed the person's yes
    error: AgentError | None = None


class Heard:
    """What has been said in a turn so far."""

    def __init__(self) -> None:
        self.turn = ""  # the handle of the question
        self.finish = ""
        self.ended: TurnEnded | None = None
        self._replies = [""]

    def take(self, event: Event) -> None:
        match event:
            case Asked(handle):
                self.turn = handle
            case TextArrived(text):
                self._replies[-1] += text
            case TextWasThinking():
                self._replies[-1] = ""
            case ToolFinished():
                self._replies.append("")
            case TurnEnded(finish=finish):
                self.finish, self.ended = finish, event

    @property
    def answer(self) -> str:
        return "\n\n".join(reply.strip() for reply in self._replies if reply.strip())


def hire(
    app: App, approve: Approve, tell: Callable[[str], None], extra: str = "", *, every: bool = False
) -> loop.Agent:
    """The agent of a turn in which nobody can be asked. Raises AgentError.

    `extra`: further instructions. It is told when no model answers; `every`: and which one does, where it was chosen.
    """
    model, notice = app.chat_model(app.db)
    if notice and (model.name == "offline" or every):
        tell(notice)
    agent = app.agent(model, approve)
    return replace(agent, instructions=f"{agent.instructions}\n\n{extra}") if extra else agent


def run(
    app: App, parts: Sequence[Part], kind: str, cancel: Cancel | None = None, *, title: str = "", extra: str = ""
) -> Outcome:
    """Run one turn in a session of its own, a one-shot of this kind. Raises Cancelled, with what arrived kept."""
    session = sessions.start(app.db, app.scope, app.time(), kind)
    if title:
        sessions.rename(app.db, session, title)
    heard, notices, refused = Heard(), list[str](), list[str]()
    error: AgentError | None = None

    def refuse(call: ToolCall) -> None:
        refused.append(call.name)

    try:
        here = app.here(app.db, session)
        turn = loop.run_turn(lambda: hire(app, refuse, notices.append, extra), here, parts, cancel)
        with closed_after(app.listen(turn, here, parts, at_keyboard=False)) as events:
            for event in events:
                heard.take(event)
                if isinstance(event, Noticed):
                    notices.append(event.text)
    except Cancelled:
        raise
    except AgentError as failed:
        error = failed
    finally:
        closing.end_one_shot(app.db, session, app.time)
        sessions.release(app.db, session)
    app.after_turn(app.db)
    said = Outcome(session, heard.answer, notices=tuple(notices), refused=tuple(dict.fromkeys(refused)), error=error)
    ended = heard.ended
    if ended is None:
        return said
    return replace(
        said, finish=ended.finish, model=ended.model, tokens_in=ended.tokens_in, tokens_out=ended.tokens_out,
        stopped_by=ended.stopped_by,
    )  # fmt: skip
