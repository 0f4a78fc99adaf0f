"""`agent`: its options, and the commands, each imported only when it is used.

Start-up time is a feature: no command imports what another needs, and the help is printed from the tables in usage.py.
"""

import errno
import os
import re
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO, cast

import typer
from typer.core import TyperGroup

from agent_cli import CHILD
from agent_cli.cli import output, usage
from agent_cli.cli.invocation import Invocation, converse, resume_chosen
from agent_cli.cli.usage import COMMANDS
from agent_cli.errors import AgentError, Cancelled, StoreError, UsageError
from agent_cli.text import nearest, one_line, without_surrogates


def in_front(arguments: list[str], group: Any, context: Any) -> list[str]:
    """The arguments with the group's options moved before the command; `group` and `context` are Click's."""
    wanted = _takes_value(group)
    start = _command_at(arguments, wanted)
    if not any(word.partition("=")[0] in wanted for word in arguments[start + 1 :]):
        return arguments  # the command need not be loaded yet
    known = _options_of_command(arguments[start:], group, context)
    moved, stay = [], []
    rest = iter(arguments[start:])
    for word in rest:
        if word in ("--", "--to-command"):  # what follows is not the program's to read
            stay += [word, *rest]
        elif word in known:
            stay += [word, *_value(rest, known[word])]
        elif (name := word.partition("=")[0]) in wanted and name not in known:
            value = _value(rest, wanted[name] and "=" not in word)
            if wanted[name] and "=" not in word and not value:
                return [word]  # alone, Click says what it misses
            moved += [word, *value]
        else:
            stay.append(word)
    return [*arguments[:start], *moved, *stay]


def _command_at(arguments: list[str], options: dict[str, bool]) -> int:
    """Where the first word stands that is no option and no value of one."""
    rest = iter(enumerate(arguments))
    for at, word in rest:
        if not word.startswith("-") or word == "--":
            return at
        if options.get(word):
            next(rest, None)
    return len(arguments)


def _options_of_command(words: Iterable[str], group: Any, context: Any) -> dict[str, bool]:
    """The options of the command that these words name, and of the groups on the way to it."""
    known: dict[str, bool] = {"-h": False, "--help": False}
    command = group
    for word in words:
        if word.startswith("-"):
            continue
        command = command.get_command(context, word) if hasattr(command, "get_command") else None
        if command is None:
            break
        known |= _takes_value(command)
    return known


def _takes_value(command: Any) -> dict[str, bool]:
    """The options of a command, and whether a value follows each."""
    return {
        name: not param.is_flag
        for param in command.params
        if param.param_type_name == "option"
        for name in (*param.opts, *param.secondary_opts)
    }


def _value(rest: Iterator[str], taken: bool) -> list[str]:
    """The value that follows an option, if one does."""
    return [word for word in [next(rest, None)] if word is not None] if taken else []


_MODEL_COMMANDS = (None, "ask")  # commands that ask a model; None: a conversation
_ClickUsageError = cast(
    "type[typer.BadParameter]", typer.BadParameter.__base__
)  # Typer's own UsageError, which has no public name


class LazyGroup(TyperGroup):
    """The commands of the table, imported on demand; the one place where errors are printed."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        command = typer.main.get_command(usage.app(cmd_name))
        command.name = cmd_name
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            if near := nearest(args[0], COMMANDS):
                raise UsageError(f"there is no command {args[0]!r}; did you mean {near}?")
            question = one_line(" ".join(args), 60)
            raise UsageError(f'there is no such command; a question is asked with `agent ask`: agent ask "{question}"')
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(usage.help())

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _exit_on_closed_output(), _usage_errors():
            return super().make_context(*args, **kwargs)

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        if args and args[-1] in ("-r", "--resume") and not set(args) & set(COMMANDS):
            args = [*args, ""]  # `start` reports the missing session
        return super().parse_args(ctx, in_front(args, self, ctx))

    def invoke(self, ctx: Any) -> Any:
        with _exit_on_closed_output(), _usage_errors():
            return self._invoke(ctx)

    def _invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            if ctx.obj:
                ctx.obj.update_index()
            return result
        except AgentError as error:
            output.fail(error)
        except typer.Exit:
            raise
        except _ClickUsageError as error:
            _suggest_nearest(error)
            raise
        except KeyboardInterrupt:
            output.fail(Cancelled("stopped"))
        except Exception as error:
            if ctx.obj and (damage := ctx.obj.damage()):
                output.fail(StoreError(f"{damage} ({type(error).__name__}: {error})"))
            raise
        finally:
            if ctx.obj:
                ctx.obj.close()
            sys.stdout.flush()


def _suggest_nearest(error: Any) -> None:
    """Let the error about an unknown subcommand name the one that was probably meant, and no other."""
    if found := re.match(r"No such command '([^']*)'", error.message):
        near = nearest(found[1], error.ctx.command.list_commands(error.ctx))
        error.message = f"there is no command {found[1]!r}" + (f"; did you mean {near}?" if near else "")


@contextmanager
def _exit_on_closed_output() -> Iterator[None]:
    """Exit with 141 when the reader of the output has gone, with an error when its disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ENOSPC):
            raise
        _discard_output(sys.stdout)
        if error.errno == errno.ENOSPC:
            output.fail(AgentError("the output cannot be written: no space is left on that disk"))
        _discard_output(sys.stderr)  # the reader has gone, and may have read this stream too
        sys.exit(141)


@contextmanager
def _usage_errors() -> Iterator[None]:
    """Print the errors of Typer as those of the program, with the command whose help says more."""
    try:
        yield
    except _ClickUsageError as error:
        words = re.sub(r" \(Possible options: ([^()]*)\)$", r"; did you mean \1?", error.format_message().rstrip("."))
        help = f" (`{error.ctx.command_path} --help` says more)" if error.ctx else ""
        output.fail(UsageError(f"{words[:1].lower()}{words[1:]}{help}"))


def _discard_output(stream: TextIO) -> None:
    """Discard what the stream still holds and whatever is written to it later."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


app = typer.Typer(
    cls=LazyGroup,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(usage.VERSION)
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    model: Annotated[str | None, typer.Option("-m", "--model")] = None,
    continue_: Annotated[bool, typer.Option("-c", "--continue")] = False,
    resume: Annotated[str | None, typer.Option("-r", "--resume")] = None,
    interactive: Annotated[bool, typer.Option("-i", "--interactive")] = False,
    caller: Annotated[str, typer.Option("--as")] = "",
    db: Annotated[Path | None, typer.Option("--db")] = None,
    no_memory: Annotated[bool, typer.Option("--no-memory")] = False,
    incognito: Annotated[bool, typer.Option("--incognito")] = False,
    memory: Annotated[bool, typer.Option("--memory")] = False,
    color: Annotated[Literal["auto", "always", "never"], typer.Option("--color")] = "auto",
    plain: Annotated[bool, typer.Option("--plain")] = False,
    screen_reader: Annotated[bool, typer.Option("--screen-reader")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose")] = False,
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True)] = False,
) -> None:
    """A terminal assistant that remembers. Without a command it starts a conversation."""
    invocation = Invocation(
        flags={"model": model, "db": str(db) if db else None},
        quiet=quiet,
        verbose=verbose,
        latest=continue_,
        resume=resume,
        caller=caller,
        child=CHILD in os.environ,
        color=color,
        plain=plain,
        screen_reader=screen_reader or os.environ.get("ACCESSIBLE", "").lower() not in ("", "0", "false", "no"),
        incognito=incognito,
        interactive=interactive,
    )
    output.set_look(color, plain=plain)
    if screen_reader:
        os.environ["ACCESSIBLE"] = "1"  # the screens of a conversation read it there
    invocation.set_memory(memory, no_memory)
    if CHILD in os.environ:  # the clock decides what expires, so it stays that of the process that started this one
        os.environ["AGENT_NOW"] = os.environ[CHILD].removeprefix("1")
    os.environ[CHILD] = f"1{os.environ.get('AGENT_NOW', '')}"  # seen by every process that this one starts
    invocation.check()
    if context.invoked_subcommand not in _MODEL_COMMANDS and (option := invocation.model_only_option):
        raise UsageError(f"{option} is for a conversation and for `agent ask`: other commands work on the file")
    at_terminal = context.invoked_subcommand is None and sys.stdin.isatty() and sys.stdout.isatty()
    if resume is not None and not resume.strip() and not at_terminal:
        raise _missing_session(invocation)
    context.obj = invocation
    if context.invoked_subcommand is None:
        _converse_or_ask(invocation)


def _missing_session(invocation: Invocation) -> UsageError:
    """The error for -r without a session; it lists the latest ones."""
    from agent_cli.memory.conversations import sessions  # opens the file, which is rarely needed here

    rows = sessions.listing(invocation.app().db, invocation.app().scope.owner, 5)
    if not rows:
        return UsageError("there is no session to resume yet; start one without -r")
    lines = "\n".join(f"  {row['id']}  {row['title']}" for row in rows)
    return UsageError(f"-r needs a session; name one by its handle:\n{lines}")


def _converse_or_ask(invocation: Invocation) -> None:
    """Start a conversation at a terminal, or ask one question when input is piped in."""
    if invocation.interactive or not sys.stdin.isatty():
        from agent_cli.cli import ask  # not needed for a conversation
        from agent_cli.cli.ask import AskOptions

        ask.answer(invocation, AskOptions(words=[]))
    elif not sys.stdout.isatty():
        raise UsageError("no prompt is given and the output is not a terminal; use `agent ask`")
    else:
        if invocation.resume is not None and not invocation.resume.strip():
            resume_chosen(invocation)
        else:
            converse(invocation, invocation.chosen_session())


def main() -> None:
    """The console script. On SIGTERM and SIGHUP it exits in order, so that an answer cut off is kept."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, lambda *_: sys.exit(129))
    _set_up_streams()
    sys.argv = [without_surrogates(word) for word in sys.argv]
    app(prog_name="agent")


def _set_up_streams() -> None:
    """Use UTF-8 for standard input, output and error; one that was closed, as by <&-, is opened on the null device."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
        getattr(sys, name).reconfigure(encoding="utf-8", errors="replace")
