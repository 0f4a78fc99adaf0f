"""The person at the prompt: types messages and commands, says yes where the program asks, and goes to bed.

All of it goes the way of the interactive session: the functions behind the prompt, with its log, recall, notices, jobs.
"""

import json
import os
import re
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from typer.testing import CliRunner

from agent_cli.agent.events import Noticed, QuestionLogged
from agent_cli.agent.jobs import worker
from agent_cli.app import background, upkeep
from agent_cli.app.app import App
from agent_cli.cli import main
from agent_cli.errors import UsageError
from agent_cli.llm.model import Cancel
from agent_cli.memory.conversations import log
from agent_cli.memory.review import review
from agent_cli.memory.review.review import Proposal
from agent_cli.messages import Part
from agent_cli.repl.commands import commands
from agent_cli.repl.commands.commands import Asking
from agent_cli.repl.conversation import Conversation
from agent_cli.store import ids
from agent_cli.values import frozen

FIRST = date(2026, 5, 31)  # day 0
ZONE = ZoneInfo("Europe/Vienna")


@frozen
class Recalled:
    kind: str
    row: int
    text: str  # as the model was shown it


@frozen
class Said:
    """A message, its reply, and what was recalled for it, best first."""

    message: int
    reply: int
    recalled: list[Recalled]


class Person:
    def __init__(self, app: App, folder: Path):
        self.app, self._folder = app, folder
        self._conversation = Conversation(app)

    def set_clock(self, day: int, hour: int, minute: int = 0) -> None:
        moment = datetime.combine(FIRST + timedelta(days=day), datetime.min.time(), ZONE)
        os.environ["AGENT_NOW"] = moment.replace(hour=hour, minute=minute).isoformat()

    def say(self, words: str) -> Said:
        """Type a message; where the program offers to keep it against a fact, take that."""
        db, talk = self.app.db, self._conversation
        log.add_prompt(db, self.app.scope, talk.id, words, self.app.time())
        message, offered = 0, False
        for event in talk.turn([Part(words, "typed")])(Cancel(), lambda call: False):
            if isinstance(event, QuestionLogged):
                message = ids.number("message", event.handle)
            offered = offered or (isinstance(event, Noticed) and "/update" in event.text)
        answer = db.value("select max(id) from message where id > ? and role = 'assistant'", (message,))
        rows = db.rows("select kind, row, text from recollection where message_id = ? order by id", (message,))
        if offered:
            self.command("/update")
        return Said(message, answer or 0, [Recalled(*row) for row in rows])

    def command(self, line: str, telling: Sequence[str] = ()) -> str:
        """Type a command, and yes where it asks for that; returns what is printed.

        `telling`: words by which to choose among numbered lines, where it asks which.
        """
        log.add_prompt(self.app.db, self.app.scope, self._conversation.id, line, self.app.time())
        found = commands.find(line)
        assert found, line
        try:
            result: Any = commands.run(self._conversation, *found)
            if isinstance(result, Asking):
                return f"{result.text}\n{result.answer(' '.join(_chosen(result.text, telling)) or 'yes')}"
        except UsageError as error:
            return str(error)
        if callable(result):
            return "\n".join(event.text for event in result(Cancel(), lambda call: False) if isinstance(event, Noticed))
        return str(result)

    def add_file(self, name: str, words: str) -> None:
        file = Path(self._folder, name)
        file.write_text(words, encoding="utf-8")
        self.command(f"/docs add {file}")

    def review(self, decide: Callable[[Proposal], str]) -> None:
        """Decide on what waits: y, r or n, as `decide` says."""
        reviewer = self.app.memory
        for key in review.pending(reviewer):
            if proposal := review.read(reviewer, key):
                decided = decide(proposal)
                if decided == "n":
                    review.reject(reviewer, proposal)
                else:
                    review.accept(reviewer, proposal, replacing=decided == "r")

    def leave(self) -> None:
        """Leave the prompt, and let the program do its work behind it."""
        self._conversation.leave()
        self.wait()
        self._conversation = Conversation(self.app)

    def wait(self) -> None:
        """Let the program do the work that is due."""
        context = background.job_context(self.app, self.app.db, Cancel())
        worker.queue_due(context)
        upkeep.after_turn(self.app, self.app.db)
        while worker.run_one(context):
            pass

    def verdicts(self, questions: list[str]) -> list[str]:
        """What `agent search` says to each: known, maybe or nothing."""
        file = Path(self._folder, "questions.txt")
        file.write_text("".join(f"{each}\n" for each in questions), encoding="utf-8")
        return [json.loads(line)["verdict"] for line in _run("search", "--batch", str(file)).splitlines()]

    def facts_of(self, day: str) -> list[str]:
        """The statements that hold on a day."""
        listed = json.loads(_run("facts", "list", "--as-of", day, "--limit", "500", "--json"))
        return [each["statement"] for each in listed]


def _chosen(listed: str, telling: Sequence[str]) -> list[str]:
    """The numbers of the lines that have a telling word."""
    lines = re.findall(r"^ *(\d+)  +([a-z]\d.*)$", listed, re.MULTILINE)
    words = [word for each in telling for word in each.split()]
    return [number for number, line in lines if any(word in line.casefold() for word in words)]


def _run(*arguments: str) -> str:
    """What a command of the program prints, run in this process: a hundred processes take longer than the days."""
    ran = CliRunner().invoke(main.app, arguments)
    assert ran.exit_code == 0, ran.output
    return ran.stdout
