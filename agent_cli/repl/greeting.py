"""What is said at the start of a conversation, and above the prompt what is new. Nothing is downloaded unasked."""

from collections.abc import Iterator
from functools import partial
from io import StringIO

from agent_cli import clock
from agent_cli.agent import carry_over, model_context
from agent_cli.agent.events import Event, Noticed, Progressed, Work
from agent_cli.agent.policy import Approve
from agent_cli.app import models
from agent_cli.app.app import App
from agent_cli.errors import AgentError, Cancelled, ModelUnavailable
from agent_cli.llm import local, ollama
from agent_cli.llm.engine import AUTO, is_cloud, same_model
from agent_cli.llm.model import Cancel
from agent_cli.memory.conversations import capture, log, sessions
from agent_cli.memory.review import review
from agent_cli.memory.scope import short_path
from agent_cli.messages import Failure
from agent_cli.render import markdown
from agent_cli.render.layout import formatted
from agent_cli.render.reply_lines import with_sign
from agent_cli.render.styles import YOU, Display
from agent_cli.repl.pages import session_name
from agent_cli.store import jobs
from agent_cli.text import counted, one_line

_SHOWN, _SHOWN_LINES = 600, 12  # characters and lines of a message of the last exchange


def opening(app: App) -> list[str]:
    if shown := carried_over(app):
        return [shown]
    return [
        "agent, an assistant that remembers. It talks to the model on this machine.",
        f"Everything is kept in one file of yours: {short_path(app.db.path)}",
        "Nothing is remembered without your yes. /help lists the commands.",
        "To begin with, try: remember that I drink my tea without milk",
    ]


def carried_over(app: App) -> str:
    """What a new session carries over from earlier ones; empty when there are none."""
    if not app.reads:
        return "nothing of memory is read in this run; what is said is kept"
    db, scope = app.db, app.scope
    composed, previous = carry_over.compose(db, scope, app.time(), everywhere=app.config.carry == "everywhere")
    shown = carry_over.fit_context(composed, app.config.num_ctx)
    latest = sessions.last_here(db, scope, app.terminal)
    if previous is None or not shown.text:
        last = latest or sessions.latest(db, scope.owner)
        if last is None:
            return ""
        option = "-c" if latest else f"-r {last.handle}"
        return f"last: {session_name(db, last)} (agent {option} goes on with it) · /help"
    summaries, messages = len(shown.summaries), len(shown.messages)
    parts = [counted(summaries, "summary", "summaries")] if summaries else []
    if messages:
        said = clock.local(previous.last_at, previous.utc_offset)
        days = (app.time().date() - said.date()).days
        day = f"{said:%A}" if days < 7 else f"{said.day} {said:%b %Y}"
        day = {0: "today", 1: "yesterday"}.get(days, day)
        said_last = "the last message" if messages == 1 else f"the last {messages} messages"
        parts.append(f"{said_last} of {session_name(db, previous)} ({day})")
    option = "-c" if latest and latest.id == previous.id else f"-r {previous.handle}"
    return f"carried over: {' and '.join(parts)} · agent {option} goes on with {'it' if messages else previous.handle}"


def incognito(app: App) -> str:
    read = "memory is read, and" if app.reads else "nothing of memory is read, and"
    return f"incognito: {read} nothing is written: when you leave, this conversation is gone"


def resumed(app: App, session: sessions.Session) -> str:
    """How much the model sees of a resumed session."""
    seen = model_context.visible(app.db, session.id, app.window)
    whole = log.count(app.db, session.id, spoken=True)
    shown = log.count(app.db, session.id, seen[0], spoken=True) if seen else 0
    if not whole:
        return f"{session_name(app.db, session)} goes on"
    if shown == whole:
        extent = f"all of it ({counted(whole, 'message')})"
    else:
        extent = f"its last {shown} messages, and the {whole - shown} before them in short"
    return f"{session_name(app.db, session)} goes on: the model sees {extent}"


def last_exchange(app: App, session: sessions.Session, display: Display) -> str:
    """The last question of a session and the beginning of its answer, drawn as they were; empty without a question."""
    asked = log.nth_last(app.db, session.id, "user", 1)
    if asked is None:
        return ""
    answer = log.nth_last(app.db, session.id, "assistant", 1)
    question = one_line(asked.message.text, _SHOWN)
    if display.screen_reader:
        lines = [f"You: {question}"]
    else:
        lines = [with_sign(formatted(question, display, 2).split("\n"), display, YOU)]
    if answer is None or answer.id < asked.id:
        if not (log.undecided_calls(app.db, session.id) or capture.only_asks(asked.parts)):
            lines.append("no answer came: /retry asks again")
    else:
        lines += [*([] if display.screen_reader else [""]), _drawn(answer.message.text, display)]
        if answer.finish in ("cancelled", "interrupted"):
            lines.append("the answer was cut off there: /retry asks again")
    return "".join(f"{line}\n" for line in lines)


def _drawn(answer: str, display: Display) -> str:
    lines, left = list[str](), _SHOWN
    for line in answer.strip().split("\n")[:_SHOWN_LINES]:
        if len(line) > left:
            lines += [f"{line[: left - 1].rstrip()}…"] if not lines else []
            break
        lines.append(line)
        left -= len(line)
    out = StringIO()
    writer = markdown.answer_writer(out, display)
    writer.write("\n".join(lines))
    writer.end()
    shown = out.getvalue().strip("\n")
    whole = "\n".join(lines) == answer.strip() or shown.endswith("…")
    return f"{'Answer: ' if display.screen_reader else ''}{shown}{'' if whole else f'{chr(10)}…'}"


class Notices:
    def __init__(self, app: App):
        self._app = app
        self._waiting: frozenset[review.ProposalKey] | None = None
        self._given_up, self._failure_reported = 0, False
        self._version: object = None

    def news(self) -> list[str]:
        """Lines about what is new since the last call. Takes microseconds while no other connection has written."""
        db = self._app.db
        version = db.value("pragma data_version")
        if version == self._version:
            return []
        waiting, given_up = frozenset(review.pending(self._app.memory)), jobs.count_by_state(db).get("parked", 0)
        before, failed = self._waiting, given_up > self._given_up
        self._version, self._waiting, self._given_up = version, waiting, given_up
        if before is None:
            return []
        lines = [review.waiting_notice(sorted(waiting))] if waiting - before else []
        if failed and not self._failure_reported:
            self._failure_reported = True
            lines.append(Failure("some background work failed: /doctor says more"))
        return lines


_SMALL_OFFER = (
    "Type y and Enter to try SmolLM2-135M now, a very small model on this machine: it shows how everything works, "
    "but answers badly."
)


class ModelOffer:
    """The models that were suggested where none answers. `check` runs on another thread than `accept`."""

    def __init__(self, app: App):
        self._app = app
        self._offered: dict[str, Work] = {}  # what is done for a typed answer
        self._server_absent = False  # whether the person knows that no server answers
        self.model_name = ""  # the model that will answer, once it is known

    def check(self) -> str:
        """What to say when no server answers, or when it has no model that can chat; empty when it has one."""
        config = self._app.config
        if not models.needs_engine(config.model):
            return ""
        try:
            engine = self._app.engine
            found = engine.listing()
        except ModelUnavailable:
            absent = f"no model server at {engine.url}: {engine.start}; notes, facts and search work without"
            lines = [] if self.absence_known() else [absent]
            if config.engine == "ollama" and config.model == AUTO and local.is_small_ready():
                self._offered = {"y": self._try_small}
                lines.append(_SMALL_OFFER)
            return "\n".join(lines)
        except AgentError:
            return ""
        if any(map(models.chats, found)):
            self.model_name = models.default_of(self._app, found) if config.model == AUTO else config.model
            return ""
        if engine.name != "ollama":
            return str(engine.missing())
        configured = () if config.model == "auto" or is_cloud(config.model) else (config.model,)
        sizes = {name: f"  {size} to fetch, {room} of memory" for name, (size, room) in models.SUGGESTIONS.items()}
        names = tuple(dict.fromkeys((*configured, *sizes)))[:3]
        numbered = {str(number): partial(self._download, name) for number, name in enumerate(names, 1)}
        self._offered = {**numbered, "y": numbered["1"]}
        width = max(map(len, names))
        listed = [f"  {number}  {name:<{width}}{sizes.get(name, '')}".rstrip() for number, name in enumerate(names, 1)]
        head = f"The server at {engine.url} has no model that can chat. These would do:"
        ask = f"Type y and Enter to fetch {names[0]} now, or the number of another one."
        return "\n".join([head, *listed, f"{ask} Notes, facts and search work without a model."])

    def absence_known(self) -> bool:
        """Whether the person was told before that no server answers, and how to start one; from now on they were."""
        known, self._server_absent = self._server_absent, True
        return known

    def accept(self, line: str) -> Work | None:
        """What was offered for this answer, or None. The offer stands until a model answers: then `y` is for that."""
        typed = line.strip().lower()
        work = None if self._app.model else self._offered.get("y" if typed == "yes" else typed)
        self._offered = {} if work else self._offered
        return work

    def _try_small(self, cancel: Cancel, approve: Approve) -> Iterator[Event]:
        models.use_local(self._app, local.SMALL)
        self._server_absent = False
        further = "/set engine local keeps it, and /set model FILE.gguf takes a better one"
        yield Noticed(f"{local.SMALL} answers in this session; {further}")

    def _download(self, name: str, cancel: Cancel, approve: Approve) -> Iterator[Event]:
        config, step = self._app.config, ""
        try:
            for progress in ollama.pull(config.host, name, cancel):
                new = progress.coarse_line if progress.coarse_line != step else ""
                step = progress.coarse_line
                yield Progressed(progress.line, new)
        except Cancelled as error:
            yield Noticed(str(error))
            return
        answers = config.model == "auto" or same_model(config.model, name)
        yield Noticed(f"{name} is here{' and answers from now on' if answers else f': /model {name} makes it answer'}")
