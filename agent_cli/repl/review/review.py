"""The review of what waits for a yes: one proposal at a time, in plain lines that are only ever appended.

Enter does nothing, so that consent is no reflex; what is not decided by a key stays as it is, whatever ends the review.
The same screen serves `agent facts review` and /review. A model, a pipe or a paste has no way to it.
"""

import shutil
import sys
from collections import Counter

from prompt_toolkit import PromptSession
from prompt_toolkit.utils import is_dumb_terminal

from agent_cli import editor
from agent_cli.errors import AgentError, StoreBusy, StoreError
from agent_cli.memory.review import review
from agent_cli.memory.review.proposals import Proposal, Reviewer
from agent_cli.memory.review.review import Decision, Ticket
from agent_cli.render.program_text import wrap
from agent_cli.repl.keyboard import dumb_terminal, invisible_characters
from agent_cli.repl.keyboard.key_reader import END, ENTER, STOP, KeyReader
from agent_cli.repl.review import review_page
from agent_cli.store import ids
from agent_cli.text import clean

_AT_ONCE = 50  # what one typed yes keeps at most: no more can be looked through


class Review:
    """One walk through the queue. `editor` is the setting; `aloud`: for a screen reader."""

    def __init__(self, reviewer: Reviewer, editor: str, *, aloud: bool = False, session: int | None = None):
        self._reviewer, self._editor, self._aloud, self._session = reviewer, editor, aloud, session
        self._queue = review.waiting(reviewer, session)
        self._at = 0
        self._words: dict[Ticket, str] = {}  # other words for a proposal, until it is decided
        self._decided: list[tuple[int, Decision]] = []
        self._told: set[Ticket] = set()  # what is known here to be decided
        self._dumb = dumb_terminal.LineKeyReader(sys.stdin.fileno(), self._say) if is_dumb_terminal() else None
        self._keys = self._dumb or KeyReader(self._say, _write)

    async def run(self) -> int:
        """Show one after the other until the end or q; returns how many decisions stand."""
        if not self._queue:
            self._say("nothing waits for your yes")
            return 0
        with self._keys:
            while self._at < len(self._queue):
                if not await self._one():
                    break
        self._sum_up()
        return len(self._decided)

    async def _one(self) -> bool:
        """Show the present proposal and do what is chosen; False to leave."""
        proposal = review.read(self._reviewer, self._ticket, self._words.get(self._ticket, ""))
        if proposal is None:
            if self._ticket not in self._told:
                self._say("", f"  {ids.handle(*self._ticket)} was decided meanwhile")
            self._at += 1
            return True
        offered = self._show(proposal)
        key = await self._choose(offered, review_page.handles(proposal))
        if key == "q":
            return False
        try:
            await self._do(key, proposal, offered)
        except StoreError as error:
            if not isinstance(error, StoreBusy):
                raise  # the file cannot be written: there is no going on
            self._say(f"  {error}")
        except AgentError as error:
            self._say(f"  {error}")
            if review.read(self._reviewer, self._ticket) is None:
                self._told.add(self._ticket)
        return True

    async def _do(self, key: str, proposal: Proposal, offered: str) -> None:
        match key:
            case "y":
                self._decide(review.keep(self._reviewer, proposal))
            case "r":
                self._decide(review.supersede(self._reviewer, proposal))
            case "n":
                self._decide(review.reject(self._reviewer, proposal))
            case "s":
                self._at += 1
            case "e":
                await self._edit(proposal)
            case "E":
                self._edit_outside(proposal)
            case "o":
                self._say("", *review_page.passage(review.passage(self._reviewer, proposal), proposal.quote, _width()))
            case "u":
                self._undo()
            case "A":
                await self._keep_the_rest()
            case "?":
                self._say("", *review_page.help(offered))

    @property
    def _ticket(self) -> Ticket:
        return self._queue[self._at]

    def _show(self, proposal: Proposal) -> str:
        """Print it with what can be chosen; what was typed before is no answer to it."""
        offered = "".join(
            key
            for key, there in (
                ("y", True),
                ("r", proposal.known),
                ("n", True),
                ("e", True),
                ("E", True),
                ("s", True),
                ("o", proposal.message or proposal.session),
                ("u", self._decided),
                ("A", True),
                ("q", True),
            )
            if there
        )
        place, now, known = (self._at + 1, len(self._queue)), self._reviewer.time(), review_page.handles(proposal)
        if self._aloud:
            lines, keys = review_page.spoken(proposal, place, now), review_page.numbered(offered, known)
        else:
            lines = [*review_page.item(proposal, place, now, _width()), ""]
            keys = review_page.keys(offered, known, _width())
        self._say("", *lines)
        self._keys.discard_typed()  # before the keys are listed, so that a key pressed at once counts
        self._say(*keys)
        return offered

    async def _choose(self, offered: str, known: str) -> str:
        while True:
            if self._aloud:
                told = await self._keys.read_line("Number and Enter: ")
                key = told if told in (STOP, END) else review_page.by_number(told)
            else:
                key = await self._keys.read_key()
            if key in (STOP, END):
                return "q"
            if (key in offered and key) or (key == "?" and not self._aloud):
                return key
            if self._aloud:
                self._say("Nothing was decided: type one of the numbers above, then Enter.")
            elif key != ENTER:
                self._say(f"  ({key} does nothing here; ? lists the keys)")

    def _decide(self, decision: Decision) -> None:
        self._decided.append((self._at, decision))
        for proposal in decision.proposals:
            self._words.pop((proposal.kind, proposal.id), None)
            self._told.add((proposal.kind, proposal.id))
        self._say(*(f"  {receipt}" for receipt in decision.receipts))

    def _undo(self) -> None:
        if not self._decided:
            return
        at, decision = self._decided[-1]
        undone = review.undo(self._reviewer, decision) or ["it was taken back elsewhere already"]
        self._say(*(f"  undone: {receipt}" for receipt in undone))
        self._decided.pop()
        self._at = at

    async def _edit(self, proposal: Proposal) -> None:
        """Other words, typed here; they are shown and wait for a yes like any others."""
        if proposal.body:
            self._edit_outside(proposal)  # a file is no line
            return
        before = "Its words: " if self._aloud else "  + "
        if self._dumb:
            self._say("Type other words; Enter alone leaves them as they are.")
            self._reword(proposal, await self._dumb.read_text(before))
            return
        with self._keys.paused():
            invisible_characters.show()
            asking: PromptSession[str] = PromptSession()
            try:
                words = await asking.prompt_async(before, default=proposal.statement, handle_sigint=False)
            except (EOFError, KeyboardInterrupt):
                words = ""
        self._reword(proposal, words)

    def _edit_outside(self, proposal: Proposal) -> None:
        with self._keys.paused(), editor.edited(proposal.statement, self._editor) as words:
            self._reword(proposal, words)

    def _reword(self, proposal: Proposal, words: str) -> None:
        words = review.worded(self._ticket, words) if words.strip() else ""
        if words in ("", proposal.statement):
            self._say("  its words are as they were")
        else:
            self._words[self._ticket] = words

    async def _keep_the_rest(self) -> None:
        """List what follows, and keep it all when `yes` is typed."""
        tickets = self._queue[self._at : self._at + _AT_ONCE]
        read = [review.read(self._reviewer, ticket, self._words.get(ticket, "")) for ticket in tickets]
        rest = [proposal for proposal in read if proposal]
        for each in rest:
            if self._aloud:
                ends = review_page.fate(each, "keeping it", "replacing")
                self._say(f"{each.handle}: {each.heading or each.statement}", *(line[2:] for line in each.body), *ends)
            else:
                self._say(f"  {each.handle} · {review_page.details(each)[0]}", *review_page.diff(each, _width()))
        self._keys.discard_typed()
        told = await self._keys.read_line(f"  type yes and Enter to keep {_these(len(rest))}: ")
        if told.strip().lower() != "yes":
            self._say("  nothing was decided")
            return
        decision = review.keep_all(self._reviewer, rest)
        if decision.proposals:
            self._decide(decision)
        if left := len(rest) - len(decision.proposals):
            self._say(f"  {left} changed meanwhile, or contradict what was just kept: look again")

    def _sum_up(self) -> None:
        counts: Counter[bool] = Counter()
        for _, decision in self._decided:
            counts[decision.kept] += len(decision.proposals)
        left = len(review.waiting(self._reviewer, self._session))
        self._say("", f"{counts[True]} kept, {counts[False]} rejected, {left} left")
        if self._decided and self._at >= len(self._queue):  # no key is left to say it with
            self._say("agent facts undo takes the last decision back")

    def _say(self, *lines: str) -> None:
        for line in map(clean, lines):
            print(line if self._aloud else wrap(line, _width()), flush=True)


def _these(count: int) -> str:
    return "it" if count == 1 else f"these {count}"


def _width() -> int:
    return max(20, shutil.get_terminal_size().columns)


def _write(keys: str) -> None:
    """Echo what is typed: the only thing written that is no whole line."""
    sys.stdout.write(keys)
    sys.stdout.flush()
