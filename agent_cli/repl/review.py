"""The review of proposals that wait for approval: one at a time, and a line for each that is decided.

Enter does nothing, so that nobody approves by reflex. `agent facts review` and /review show the same screen. Where the
terminal allows it, the page of a decided proposal is replaced by its line; elsewhere lines are only appended.
"""

import os
import re
import shutil
import sys
from collections import Counter
from contextlib import suppress

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app_session
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.utils import is_dumb_terminal

from agent_cli import terminal
from agent_cli.errors import AgentError, StoreBusy, StoreError
from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.review import review
from agent_cli.memory.review.review import STAYS, Proposal, ProposalKey, ReviewDecision
from agent_cli.render import styles
from agent_cli.render.layout import cut, wrapped
from agent_cli.render.reply_lines import announced
from agent_cli.repl import pages
from agent_cli.repl.keyboard import keys
from agent_cli.repl.keyboard.key_reader import END, ENTER, STOP, KeyReader, LineReader, write
from agent_cli.store import ids
from agent_cli.text import clean, counted, one_line

_KEY = re.compile(r"(?<=  )\S(?= |$)")  # a key in the line that lists them
_CLEAR_BELOW = "\r\x1b[{}A\x1b[J"
_MAX_BATCH = 50  # proposals that one typed yes keeps: more cannot be read through


class ReviewScreen:
    """One pass through the queue, of a session or of all; `at_prompt`: the person goes on with slash commands."""

    def __init__(self, reviewer: MemoryContext, editor: str, *, session: int | None = None, at_prompt: bool = False):
        self._reviewer, self._editor, self._session, self._at_prompt = reviewer, editor, session, at_prompt
        self._display = styles.detect(sys.stdout, os.environ)
        self._screen_reader = self._display.screen_reader
        self._queue = review.pending(reviewer, session)
        self._index = 0
        self._kind = ""  # whose page is shown
        self._more = False  # whether the filing and the source of the current proposal are shown
        self._drawn: tuple[int, int] | None = None  # lines of the current page and their width, as far as it is known
        self._wordings: dict[ProposalKey, str] = {}  # the person's wording of a proposal, until it is decided
        self._decided: list[tuple[int, ReviewDecision]] = []
        self._settled: set[ProposalKey] = set()  # tickets that the person knows to be decided
        self._line_reader = LineReader(get_app_session().input, self._say) if is_dumb_terminal() else None
        self._keys = self._line_reader or KeyReader(self._say)

    async def run(self) -> int:
        """Show the proposals until the end or q; returns the number of decisions that stand."""
        if not self._queue:
            print(announced("there is nothing to review", self._display))
            return 0
        with self._keys:
            while self._index < len(self._queue) and await self._review_one():
                pass
        counts: Counter[bool] = Counter()
        for _, decision in self._decided:
            counts[decision.accepted] += len(decision.proposals)
        left = len(review.pending(self._reviewer, self._session))
        self._say("", f"{counts[True]} kept, {counts[False]} rejected, {left} left")
        if self._decided and self._index >= len(self._queue):  # no key is left to undo with
            fact = next((each.handle for each in self._decided[-1][1].proposals if each.kind == "fact"), "")
            command = f"/undo {fact}" if self._at_prompt and fact else "agent facts undo"
            self._say(f"{command} takes the last decision back")
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
        if key not in "o?":
            self._more = False
        try:
            await self._carry_out(key, proposal, offered)
        except AgentError as error:
            if isinstance(error, StoreError) and not isinstance(error, StoreBusy):
                raise  # the file cannot be written: the review cannot continue
            self._say_above(f"  {error}")
            if not isinstance(error, StoreError) and review.read(self._reviewer, self._ticket) is None:
                self._settled.add(self._ticket)
        return key != "q"

    async def _carry_out(self, key: str, proposal: Proposal, offered: str) -> None:
        match key:
            case "y" | "r":
                self._decide(review.accept(self._reviewer, proposal, replacing=True))
            case "b":
                self._decide(review.accept(self._reviewer, proposal))
            case "n":
                self._decide(review.reject(self._reviewer, proposal))
            case "s":
                self._collapse(styles.PROGRAM, f"left {proposal.handle} for later", proposal)
                self._index += 1
            case "e":
                await self._edit(proposal)
            case "E":
                self._edit_outside(proposal)
            case "o":
                self._more = not self._more
            case "u":
                at, decision = self._decided[-1]
                undone = review.undo_batch(self._reviewer, decision.batch) or ["it was taken back elsewhere already"]
                self._say_above(*(f"  undone: {receipt}" for receipt in undone))
                self._decided.pop()
                self._index = at
            case "A":
                await self._keep_the_rest()
            case "?":
                self._say_above("", *(f"  {key}  {words}" for _, key, words in pages.explained(offered, proposal)))

    @property
    def _ticket(self) -> ProposalKey:
        return self._queue[self._index]

    def _show(self, proposal: Proposal) -> str:
        """Draw the page of the proposal and its keys; returns the keys. What was typed before does not count."""
        careful = proposal.foreign and pages.handles(proposal)
        both = pages.handles(proposal, STAYS)
        unavailable = {"y": careful, "r": not careful, "b": not both, "u": not self._decided}
        offered = "".join(key for key in "yrbneEsouAq" if not unavailable.get(key))
        of_kind = [ticket for ticket in self._queue if ticket[0] == proposal.kind]
        place, now = (of_kind.index(self._ticket) + 1, len(of_kind)), self._reviewer.time()
        self._clear_page()
        if proposal.kind != self._kind:
            self._kind = proposal.kind
            self._say("", (f"{counted(len(of_kind), proposal.kind)} to review", styles.BOLD))
        self._drawn = (0, _width())
        passage = list[str]()  # the messages around the source, where they are asked for
        if self._more and (proposal.message or proposal.session):
            messages = review.passage(self._reviewer, proposal)
            passage = ["", *pages.passage_lines(messages, proposal.quote, _width())]
        if self._screen_reader:
            self._say("", *pages.spoken_lines(proposal, place, now, more=self._more), *passage)
            choices = pages.explained(offered, proposal)
            listed = [f"{number} {words.partition(';')[0]}" for number, _, words in choices]
        else:
            self._say("", *pages.proposal_lines(proposal, place, now, _width(), more=self._more), *passage, "")
            lines = pages.key_lines(offered, proposal, _width())
            listed = [_KEY.sub(lambda key: self._display.styled(key[0], styles.BOLD), line) for line in lines]
        self._keys.discard_typed()  # before the keys are listed, so that a key pressed at once counts
        self._print(listed)
        return offered

    def _clear_page(self) -> None:
        """Take the page of the current proposal off the screen, where its lines still stand as they were drawn."""
        lines, width = self._drawn or (0, 0)
        if lines and self._display.spinner and width == _width() and lines < shutil.get_terminal_size().lines:
            write(_CLEAR_BELOW.format(lines))
        self._drawn = None

    async def _choose(self, offered: str) -> str:
        while True:
            if self._screen_reader:
                typed = await self._keys.read_line("Number and Enter: ")
                key = typed if typed in (STOP, END) else pages.KEYS_BY_NUMBER.get(typed.strip(), "")
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
        role = styles.DONE if decision.accepted else styles.PROGRAM
        for proposal, receipt in zip(decision.proposals, decision.receipts, strict=True):
            self._collapse(role, receipt, proposal)

    def _collapse(self, role: styles.LineRole, receipt: str, proposal: Proposal) -> None:
        """Replace the page of a proposal by one line that says what became of it."""
        self._clear_page()
        if self._screen_reader:
            self._say(f"  {receipt}")
            return
        line = one_line(receipt if proposal.body else f"{receipt}: {proposal.statement}", _width())
        self._print([f"{self._display.styled(role.sign, role.style)} {cut(clean(line), _width() - 3)}"])

    async def _edit(self, proposal: Proposal) -> None:
        """Let the person reword the proposal here; it is shown again and waits for a yes."""
        if proposal.body:
            self._edit_outside(proposal)  # a skill has many lines
            return
        self._drawn = None  # the line of the editor stands below the page
        before, words = "Its words: " if self._screen_reader else "  + ", ""
        with self._keys.paused(), suppress(EOFError, KeyboardInterrupt):
            if self._line_reader:
                self._say("Type other words; Enter alone leaves them as they are.")
                words = await self._line_reader.read_answer(before)
            else:
                self._say(("  Enter takes the words that stand below, Esc leaves them as they were", styles.DIM))
                bindings = KeyBindings()
                bindings.add("escape", eager=True)(lambda event: event.app.exit(result=""))
                keys.show_invisible()
                prompt: PromptSession[str] = PromptSession(key_bindings=bindings)
                words = await prompt.prompt_async(before, default=proposal.statement, handle_sigint=False)
        self._reword(proposal, words)

    def _edit_outside(self, proposal: Proposal) -> None:
        self._drawn = None
        with self._keys.paused(), terminal.edited(proposal.statement, self._editor) as words:
            self._reword(proposal, words)

    def _reword(self, proposal: Proposal, words: str) -> None:
        words = review.parse_edit(self._ticket, words) if words.strip() else ""
        if words in ("", proposal.statement):
            self._say("  its words were not changed")
        else:
            self._wordings[self._ticket] = words

    async def _keep_the_rest(self) -> None:
        """List this and the following proposals, and keep them all when `yes` is typed."""
        tickets = self._queue[self._index : self._index + _MAX_BATCH]
        read = [review.read(self._reviewer, ticket, self._wordings.get(ticket, "")) for ticket in tickets]
        rest = [proposal for proposal in read if proposal]
        for each in rest:
            if self._screen_reader:
                self._say(f"{each.handle}: {each.heading or each.statement}", *(line[2:] for line in each.body))
                self._say(*([f"It ends {ends}."] if (ends := pages.handles(each)) else []))
            else:
                self._say((f"  {each.handle}", styles.DIM), *pages.diff_lines(each, _width()))
        self._drawn = None
        self._keys.discard_typed()
        what = "it" if len(rest) == 1 else f"these {len(rest)}"
        typed = await self._keys.read_line(f"  type yes and Enter to keep {what}: ")
        if typed.strip().lower() != "yes":
            self._say("  nothing was decided")
            return
        decision = review.accept_all(self._reviewer, rest)
        if decision.proposals:
            self._decide(decision)
        if left := len(rest) - len(decision.proposals):
            self._say(f"  {left} changed meanwhile, or contradict what was just kept: look again")

    def _say(self, *lines: str | pages.StyledLine) -> None:
        """Print lines, each plain or in the style of the whole of it."""
        for line in lines:
            words, style = (line, "") if isinstance(line, str) else line
            shown = clean(words).split("\n") if self._screen_reader else wrapped(clean(words), _width())
            self._print([self._display.styled(each, style) for each in shown])

    def _say_above(self, *lines: str | pages.StyledLine) -> None:
        """Print lines that stay above the page, which is drawn again below them."""
        self._clear_page()
        self._say(*lines)

    def _print(self, lines: list[str]) -> None:
        for line in lines:
            print(line, flush=True)
        if self._drawn:
            self._drawn = (self._drawn[0] + len(lines), self._drawn[1])


def _width() -> int:
    return max(20, shutil.get_terminal_size().columns)
