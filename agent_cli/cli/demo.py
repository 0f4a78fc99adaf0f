"""`agent demo`: two sessions on a throw-away database, through the real loop. No server and no model are needed.

In the first session the model replays a script. In the second the built-in offline model answers, which can only quote
what memory holds.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from agent_cli.agent.events import Event, Noticed, TextArrived, ToolFinished
from agent_cli.app import models
from agent_cli.app.app import open_app
from agent_cli.cli import output
from agent_cli.cli.invocation import group
from agent_cli.llm.model import Cancel
from agent_cli.messages import Part, ToolCall
from agent_cli.render.reply_lines import PlainWriter
from agent_cli.repl.conversation import Conversation

app = group()
SCRIPT = Path(__file__).with_name("demo.toml")


@app.command()
def demo() -> None:
    """Play a short conversation on a throw-away database: memory in ten seconds."""
    with tempfile.TemporaryDirectory() as folder:
        flags = {"db": str(Path(folder, "demo.db")), "model": f"scripted:{SCRIPT}"}
        app_ = open_app(flags, output.note, config_file=Path(folder, "none.toml"), environ={"HOME": folder})
        try:
            output.say("── Session one\n")
            talk = Conversation(app_)
            _say(talk, "I see the dentist on Friday at 3 pm, Dr. Huber in Linz. Note that I must bring the X-rays.")
            output.say("> /close\n")
            if talk.session:
                _draw(talk.close(talk.session)(Cancel(), lambda call: False))
            output.say("── Session two, another day. No model server answers now; memory does.\n")
            models.switch(app_, "offline")
            talk = Conversation(app_)
            _say(talk, "When is the dentist?")
            output.say("── What the model was told at the start of this session (/context --full):\n")
            if talk.session:
                output.say(f"{talk.session.opening or ''}\n")
        finally:
            app_.db.close()
    output.say("── That was a throw-away database. `agent` starts your own.")


def _say(talk: Conversation, words: str) -> None:
    def approve(call: ToolCall) -> bool:
        output.say(f"The model wants to call {call.name}. Allow it? (you would press y)")
        return True

    output.say(f"> {words}\n")
    _draw(talk.turn([Part(words, "typed")])(Cancel(), approve))


def _draw(events: Iterator[Event]) -> None:
    writer = PlainWriter(sys.stdout)
    for event in events:
        match event:
            case TextArrived(text):
                writer.write(text)
            case ToolFinished(_, result) if result.receipt:
                output.say(result.receipt)
            case Noticed(text):
                writer.end()
                output.say(text)
    writer.end()
    output.say()
