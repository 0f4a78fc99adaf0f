"""The slash commands for facts and skills. What was pasted at this prompt is not accepted, but waits for approval."""

from dataclasses import replace

from agent_cli import clock, text
from agent_cli.agent import listener, profile
from agent_cli.app import upkeep
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import capture, log, readings
from agent_cli.memory.facts import adoption, contradictions, facts
from agent_cli.memory.language import statements
from agent_cli.memory.review import review
from agent_cli.memory.search import index, recall
from agent_cli.memory.search.candidates import Filter
from agent_cli.memory.skills import skills
from agent_cli.messages import Origin, Receipt, Request, joined
from agent_cli.render.layout import Verbatim
from agent_cli.repl import pages
from agent_cli.repl.commands.commands import Page, Result, Screen, command, deciding
from agent_cli.repl.conversation import Conversation
from agent_cli.repl.review import ReviewScreen
from agent_cli.store import ids
from agent_cli.values import frozen

_SHOWN = 20
_TAKES = "/remember takes a statement, as in /remember I live in Graz"


@frozen
class _Statement:
    words: str
    origin: Origin
    quote: str = ""
    message: int | None = None
    agreed: bool = False  # the person has read it, and typed /remember by hand


@deciding("/review", examples=("/review",))
def review_(conversation: Conversation, argument: str) -> Screen:
    """Decide on what waits for your yes."""
    app = conversation.app

    async def show() -> None:
        if await ReviewScreen(app.memory, app.config.editor, at_prompt=True).run():
            upkeep.after_turn(app, app.db)

    return Screen(show)


@deciding("/remember [TEXT]", examples=("/remember I live in Graz", "/remember --here the tests run with make"))
def remember(conversation: Conversation, argument: str) -> str:
    """Keep a statement at once: you typed it. Without words, what your last message states.

    A question, a greeting or a single word is refused. What you pasted waits for your yes, unless it said "remember
    that …" and you have read it in the line below your message. --here: true in this project only; --session: in this
    session only.
    """
    reach, words = _reach(argument)
    if words:
        request = capture.parse_argument(words)
        shown = f"“{text.one_line(request.statement, 60)}”"
        if request.kind in ("to do", "reminder"):
            raise UsageError(f"{shown} is something to do, not a fact: /remind makes it a task")
        if request.kind != "statement":
            raise UsageError(f"{shown} {_refusal(request.statement)}")
        said = [_Statement(request.statement, conversation.origin)]
    else:
        said = _last_said(conversation)
    clauses = [replace(each, words=clause) for each in said for clause in adoption.separate(each.words)]
    return joined([_keep(conversation, each, reach) for each in clauses])


@command("/update [FACT]", changes=True, examples=("/update", "/update f3"))
def update(conversation: Conversation, argument: str) -> str:
    """Let your last message replace the fact that it contradicts, or end it.

    FACT: the handle of the one that is meant, where it may be one of several or none is found.
    """
    app = conversation.app
    app.refuse_incognito()
    last = log.nth_last(app.db, conversation.id, "user", 1)
    if last is None or conversation.id is None:
        raise UsageError("nothing was said in this session yet; /remember TEXT keeps a fact")
    said_at = clock.local(last.at, last.utc_offset)
    memory = replace(app.memory, time=lambda: said_at)
    found = contradictions.of_message(memory, conversation.id, last.id, last.parts)
    if argument and not any(each.known for each in found):
        named = facts.get(app.db, ids.number("fact", argument), app.scope.owner)
        found, argument = [contradictions.instead_of(memory, named, last.id, last.parts)], named.handle
    if not any(each.known for each in found):
        ways = "/update f1 puts it in the place of f1, /remember TEXT keeps another"
        return f"no fact was found that your last message contradicts; {ways}"
    return Receipt("\n".join(contradictions.accept(app.memory, found, argument)))


@command("/facts [WORDS]", on_file=True, examples=("/facts", "/facts Anna"))
def facts_(conversation: Conversation, argument: str) -> Result:
    """List the known facts by whom they are about, or find some by words."""
    app = conversation.app
    owner, now = app.scope.owner, app.time()
    if argument:
        index.refresh_all(app.db)
        hits = recall.find(app.db, argument, Filter(owner, ("fact",)), now, _SHOWN).hits
        found = [each for each in facts.many(app.db, [hit.id for hit in hits], owner) if each.is_open(now)]
    else:
        found = facts.listing(app.db, owner, _SHOWN, not_over=now)
    waiting = sum(kind == "fact" for kind, _ in review.pending(app.memory))
    waits = [f"{text.counted(waiting, 'fact')} to review: /review"] if waiting else []
    if not found:
        nothing = "no fact has these words" if argument else "there are no facts; /remember TEXT keeps one"
        return "\n".join([nothing, *waits])
    rows = []
    for each in found:  # with where it is true, if not everywhere, and that it begins or ends in the future
        elsewhere = review.describe_scope(app.scope, each) if each.place or each.session_id else ""
        notes = "; ".join(filter(None, (elsewhere, facts.dates_ahead(each, now))))
        rows.append((each, f"{facts.name(each, 200)}{f' ({notes})' if notes else ''}"))
    return Page(lambda display: "\n\n".join([pages.facts_page(rows, display), *waits]))


@deciding("/profile [always|never FACT]", completes=("fact",), examples=("/profile", "/profile always f3"))
def profile_(conversation: Conversation, argument: str) -> Result:
    """Show what every session is told of you, word for word; always or never decide it for one fact."""
    app = conversation.app
    decision, _, handle = argument.partition(" ")
    if not decision:
        return profile.describe(app.db, app.scope, conversation.id, app.time(), app.profile_tokens)
    if decision not in (profile.ALWAYS, profile.NEVER) or not handle:
        raise UsageError("/profile takes always or never and a fact, as in /profile always f3")
    fact = facts.get(app.db, ids.number("fact", handle.strip()), app.scope.owner)
    adoption.set_in_profile(app.memory, fact, decision)
    when = "in every session" if decision == profile.ALWAYS else "only where a question calls for it"
    return f"{fact.handle} is told {when} (/undo {fact.handle} takes it back): “{facts.name(fact)}”"


def _reach(argument: str) -> tuple[str, str]:
    """The option at the beginning, if there is one, and the words. Raises UsageError for an unknown option."""
    first, _, rest = argument.partition(" ")
    if first.lower() == "here" and capture.STATEMENT.match(rest):
        return "--here", rest.strip()
    if not first.startswith("--"):
        return "", argument
    if first not in ("--here", "--session"):
        raise UsageError(f"/remember takes --here or --session, not {first}; nothing was kept")
    return first, rest.strip()


def _keep(conversation: Conversation, said: _Statement, reach: str) -> str:
    """Keep the statement, or propose it where it was not typed; returns the receipt."""
    app = conversation.app
    place = app.scope.place if reach == "--here" else ""
    session = conversation.ensure_session() if reach == "--session" else None
    claim = adoption.claim(
        said.words, said.origin, quote=said.quote, message=said.message, place=place, session=session
    )
    masked = " (a secret in it was masked)" if claim.statement != said.words.strip() else ""
    if said.origin != "typed" and not said.agreed:
        waits = adoption.propose(app.memory, claim, actor="person")
        if waits is None:
            return "nothing was added: it is known, waits already, or was rejected before"
        return Request(f"{waits.handle} waits for your yes: pasted words are not your own word yet (/review){masked}")
    return joined([adoption.receipt(app.memory, adoption.add(app.memory, claim), at_prompt=True), masked], "")


def _last_said(conversation: Conversation) -> list[_Statement]:
    """The statements of the person's last message. Raises UsageError when there is none."""
    last = log.nth_last(conversation.app.db, conversation.id, "user", 1)
    if last is None:
        raise UsageError("nothing was said in this session yet: write what is true, as in /remember I live in Graz")
    by_hand = conversation.origin == "typed"
    if asked := [each for each in capture.requests(last.parts) if each.kind in ("statement", "given")]:
        found = []
        for each in asked[: listener.MAX_LINES]:
            origin = readings.least_trusted((conversation.origin, each.trust))
            agreed = by_hand and each.kind == "given" and len(each.statement) <= listener.MAX_SHOWN
            found.append(_Statement(each.statement, origin, each.quote, last.id, agreed))
        return found
    handed = [part for part in last.parts if part.origin in ("typed", "pasted")]
    if not handed:
        raise UsageError(f"nothing of your last message was typed here: {_TAKES}")
    words = "".join(part.text for part in handed)
    stated = [each for each in text.sentences(words) if statements.states_something(each)]
    if not stated:
        raise UsageError(f"your last message, “{text.one_line(words, 60)}”, {_refusal(words)}")
    quote = words[words.index(stated[0]) : words.rindex(stated[-1]) + len(stated[-1])]
    origin = readings.least_trusted((conversation.origin, *(part.origin for part in handed)))
    return [_Statement(" ".join(stated), origin, quote, last.id)]


def _refusal(words: str) -> str:
    what = "is a question" if statements.is_question(words) else "states nothing"
    return f"{what}: {_TAKES}"


_SHOWN_SKILLS = 50


@command("/skills [NAME]", completes=("skill",), on_file=True, examples=("/skills", "/skills publish-the-site"))
def skills_(conversation: Conversation, argument: str) -> str:
    """List the skills there are, or show one. /NAME in a message has the model follow one."""
    app = conversation.app
    owner = app.scope.owner
    if argument:
        skill = skills.named(app.db, owner, argument)
        state = "" if skill.is_accepted else f", {'hidden' if skill.hidden_at else skill.state}"
        return Verbatim(f"{skill.handle} {skill.name}, version {skill.version}{state}\n\n{skill.text.strip()}")
    found = skills.listing(app.db, owner, _SHOWN_SKILLS)
    lines = [f"{each.handle:<6} {each.name}: {text.one_line(each.description, 120)}" for each in found]
    lines = lines or ["there are no skills; `agent skills add NAME` in a shell adds one"]
    if waiting := len(skills.pending(app.db, owner)):
        lines.append(f"{text.counted(waiting, 'skill')} to review: /review")
    return "\n".join(lines)
