"""The review of proposals that wait for approval: one at a time, in plain lines that are only appended.

Enter does nothing, so that nobody approves by reflex; what is not decided by a key stays as it is, whatever ends the
review. The same screen serves `agent facts review` and /review. A model, a pipe or a paste cannot reach it.
"""

import os
import shutil
import sys
from collections import Counter
from collections.abc import Mapping

from prompt_toolkit import PromptSession
from prompt_toolkit.utils import is_dumb_terminal

from agent_cli import editor
from agent_cli.errors import AgentError, StoreBusy, StoreError
from agent_cli.memory.review import review
from agent_cli.memory.review.proposals import Proposal, Reviewer
from agent_cli.memory.review.review import ProposalKey, ReviewDecision
from agent_cli.render import display
from agent_cli.render.program_text import wrap
from agent_cli.repl.keyboard import dumb_terminal, invisible_characters
from agent_cli.repl.keyboard.key_reader import END, ENTER, STOP, KeyReader
from agent_cli.repl.review import review_page
from agent_cli.store import ids
from agent_cli.text import clean

_NO_STYLES: Mapping[str, str] = {}
_MAX_BATCH = 50  # proposals that one typed yes keeps: more cannot be read through


class ReviewScreen:
    """One pass through the queue, of a session or of all. `editor` is the setting of that name."""

    def __init__(self, reviewer: Reviewer, editor: str, *, screen_reader: bool = False, session: int | None = None):
        self._reviewer, self._editor, self._screen_reader, self._session = reviewer, editor, screen_reader, session
        self._display = display.detect(sys.stdout, os.environ, screen_reader=screen_reader)
        self._queue = review.pending(reviewer, session)
        self._index = 0
        self._wordings: dict[ProposalKey, str] = {}  # the person's wording of a proposal, until it is decided
        self._decided: list[tuple[int, ReviewDecision]] = []
        self._settled: set[ProposalKey] = set()  # tickets that the person knows to be decided
        self._line_reader = dumb_terminal.LineKeyReader(sys.stdin.fileno(), self._say) if is_dumb_terminal() else None
        self._keys = self._line_reader or KeyReader(self._say, _write)

    async def run(self) -> int:
        """Show the proposals until the end or q; returns the number of decisions that stand."""
        if not self._queue:
            self._say("nothing waits for your yes")
            return 0
        with self._keys:
            while self._index < len(self._queue):
                if not await self._review_one():
                    break
        self._sum_up()
        return len(self._decided)

    async def _review_one(self) -> bool:
        """Show the current proposal and carry out the choice; False to leave."""
        proposal = review.read(self._reviewer, self._ticket, self._wordings.get(self._ticket, ""))
        if proposal is None:
            if self._ticket not in self._settled:
                self._say("", f"  {ids.handle(*self._ticket)} was decided meanwhile")
            self._index += 1
            return True
        offered = self._show(proposal)
        key = await self._choose(offered)
        if key == "q":
            return False
        try:
            await self._carry_out(key, proposal, offered)
        except StoreError as error:
            if not isinstance(error, StoreBusy):
                raise  # the file cannot be written: the review cannot continue
            self._say(f"  {error}")
        except AgentError as error:
            self._say(f"  {error}")
            if review.read(self._reviewer, self._ticket) is None:
                self._settled.add(self._ticket)
        return True

    async def _carry_out(self, key: str, proposal: Proposal, offered: str) -> None:
        match key:
            case "y":
                self._decide(review.accept(self._reviewer, proposal))
            case "r":
                self._decide(review.accept_replacing(self._reviewer, proposal))
            case "n":
                self._decide(review.reject(self._reviewer, proposal))
            case "s":
                self._index += 1
            case "e":
                await self._edit(proposal)
            case "E":
                self._edit_outside(proposal)
            case "o":
                messages = review.passage(self._reviewer, proposal)
                self._say("", *review_page.passage_lines(messages, proposal.quote, _width()))
            case "u":
                self._undo()
            case "A":
                await self._keep_the_rest()
            case "?":
                self._say("", *review_page.help_lines(offered))

    @property
    def _ticket(self) -> ProposalKey:
        return self._queue[self._index]

    def _offered(self, proposal: Proposal) -> str:
        """The keys that can be pressed now."""
        unavailable = {"r": not proposal.known, "o": not (proposal.message or proposal.session), "u": not self._decided}
        return "".join(key for key in "yrneEsouAq" if not unavailable.get(key))

    def _show(self, proposal: Proposal) -> str:
        """Print the proposal and its keys; returns the keys. What was typed before does not count."""
        offered = self._offered(proposal)
        place, now, known = (self._index + 1, len(self._queue)), self._reviewer.time(), review_page.handles(proposal)
        if self._screen_reader:
            lines, keys = review_page.spoken_lines(proposal, place, now), review_page.numbered_choices(offered, known)
        else:
            lines = [*review_page.proposal_lines(proposal, place, now, _width()), ""]
            keys = review_page.key_lines(offered, known, _width())
        self._say("", *lines, styles=review_page.line_styles(proposal, _width()))
        self._keys.discard_typed()  # before the keys are listed, so that a key pressed at once counts
        self._say(*keys)
        return offered

    async def _choose(self, offered: str) -> str:
        while True:
            if self._screen_reader:
                typed = await self._keys.read_line("Number and Enter: ")
                key = typed if typed in (STOP, END) else review_page.key_of_number(typed)
            else:
                key = await self._keys.read_key()
            if key in (STOP, END):
                return "q"
            if (key in offered and key) or (key == "?" and not self._screen_reader):
                return key
            if self._screen_reader:
                self._say("Nothing was decided: type one of the numbers above, then Enter.")
            elif key != ENTER:
                self._say(f"  ({key} does nothing here; ? lists the keys)")

    def _decide(self, decision: ReviewDecision) -> None:
        self._decided.append((self._index, decision))
        for proposal in decision.proposals:
            self._wordings.pop((proposal.kind, proposal.id), None)
            self._settled.add((proposal.kind, proposal.id))
        self._say(*(f"  {receipt}" for receipt in decision.receipts))

    def _undo(self) -> None:
        if not self._decided:
            return
        at, decision = self._decided[-1]
        undone = review.undo(self._reviewer, decision) or ["it was taken back elsewhere already"]
        self._say(*(f"  undone: {receipt}" for receipt in undone))
        self._decided.pop()
        self._index = at

    async def _edit(self, proposal: Proposal) -> None:
        """Let the person reword the proposal here; it is shown again and waits for a yes."""
        if proposal.body:
            self._edit_outside(proposal)  # a skill has many lines
            return
        before = "Its words: " if self._screen_reader else "  + "
        if self._line_reader:
            self._say("Type other words; Enter alone leaves them as they are.")
            self._reword(proposal, await self._line_reader.read_text(before))
            return
        with self._keys.paused():
            invisible_characters.show()
            prompt: PromptSession[str] = PromptSession()
            try:
                words = await prompt.prompt_async(before, default=proposal.statement, handle_sigint=False)
            except (EOFError, KeyboardInterrupt):
                words = ""
        self._reword(proposal, words)

    def _edit_outside(self, proposal: Proposal) -> None:
        with self._keys.paused(), editor.edited(proposal.statement, self._editor) as words:
            self._reword(proposal, words)

    def _reword(self, proposal: Proposal, words: str) -> None:
        words = review.parse_edit(self._ticket, words) if words.strip() else ""
        if words in ("", proposal.statement):
            self._say("  its words are as they were")
        else:
            self._wordings[self._ticket] = words

    async def _keep_the_rest(self) -> None:
        """List this and the following proposals, and keep them all when `yes` is typed."""
        tickets = self._queue[self._index : self._index + _MAX_BATCH]
        read = [review.read(self._reviewer, ticket, self._wordings.get(ticket, "")) for ticket in tickets]
        rest = [proposal for proposal in read if proposal]
        for each in rest:
            if self._screen_reader:
                ends = review_page.consequences(each, "keeping it", "replacing")
                self._say(f"{each.handle}: {each.heading or each.statement}", *(line[2:] for line in each.body), *ends)
            else:
                self._say(f"  {each.handle} · {review_page.details(each)[0]}", *review_page.diff_lines(each, _width()))
        self._keys.discard_typed()
        typed = await self._keys.read_line(f"  type yes and Enter to keep {_counted(len(rest))}: ")
        if typed.strip().lower() != "yes":
            self._say("  nothing was decided")
            return
        decision = review.accept_all(self._reviewer, rest)
        if decision.proposals:
            self._decide(decision)
        if left := len(rest) - len(decision.proposals):
            self._say(f"  {left} changed meanwhile, or contradict what was just kept: look again")

    def _sum_up(self) -> None:
        counts: Counter[bool] = Counter()
        for _, decision in self._decided:
            counts[decision.accepted] += len(decision.proposals)
        left = len(review.pending(self._reviewer, self._session))
        self._say("", f"{counts[True]} kept, {counts[False]} rejected, {left} left")
        if self._decided and self._index >= len(self._queue):  # no key is left to undo with
            self._say("agent facts undo takes the last decision back")

    def _say(self, *lines: str, styles: Mapping[str, str] = _NO_STYLES) -> None:
        """Print lines; `styles` are those of whole lines."""
        for line in map(clean, lines):
            shown = line if self._screen_reader else wrap(line, _width())
            print(self._display.styled(shown, styles.get(line, "")), flush=True)


def _counted(count: int) -> str:
    return "it" if count == 1 else f"these {count}"


def _width() -> int:
    return max(20, shutil.get_terminal_size().columns)


def _write(keys: str) -> None:
    """Echo what is typed."""
    sys.stdout.write(keys)
    sys.stdout.flush()
