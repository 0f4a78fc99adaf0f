"""`agent`: its options, and the commands, each imported only when it is used. No command imports what another needs."""

import errno
import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from inspect import Parameter, Signature, signature
from types import FrameType
from typing import Any, TextIO

import typer
from typer.core import TyperGroup

from agent_cli import CHILD, terminal
from agent_cli.cli import output, usage
from agent_cli.cli.invocation import Invocation
from agent_cli.cli.options import group
from agent_cli.errors import AgentError, Cancelled, StoreError, UsageError
from agent_cli.store import sealing
from agent_cli.text import nearest, one_line, without_surrogates

_ENDING = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None))]  # Windows has one
_MODEL_COMMANDS = (None, "ask")  # commands that ask a model; None: a conversation
_MODEL_OPTIONS = ("incognito", "memory", "no_memory", "interactive")  # that matter to those alone
_ClickUsageError: Any = typer.BadParameter.__base__  # Typer's own UsageError, which has no public name


@cache
def _command(name: str) -> Any:
    command = typer.main.get_command(usage.app(name))
    command.name = name
    return command


def in_front(arguments: list[str], group: Any, context: Any) -> list[str]:
    """The arguments with the group's options moved before the command; `group` and `context` are Click's."""
    wanted, known = _takes_value(group), dict[str, bool]()
    command, moved, stay = group, list[str](), list[str]()
    rest = iter(arguments)
    for word in rest:
        name = word.partition("=")[0]
        if word in ("--", "--to-command"):  # what follows is not the program's to read
            stay += [word, *rest]
        elif name in wanted and name not in known:
            moved.append(word)
            if wanted[name] and "=" not in word:
                if (value := next(rest, None)) is None:
                    return [word]  # alone, Click says what it misses
                moved.append(value)
        else:
            stay.append(word)
            if known.get(word):
                stay += [value for value in [next(rest, None)] if value is not None]
            elif not word.startswith("-") and hasattr(command, "get_command"):
                command = command.get_command(context, word)
                known |= _takes_value(command) if command else {}
    return [*moved, *stay]


def _takes_value(command: Any) -> dict[str, bool]:
    """The options of a command, and whether a value follows each."""
    return {
        name: not param.is_flag
        for param in command.params
        if param.param_type_name == "option"
        for name in (*param.opts, *param.secondary_opts)
    }


class LazyGroup(TyperGroup):
    """The commands of the table, imported on demand; the one place where errors are printed."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(usage.COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return _command(cmd_name) if cmd_name in usage.COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in usage.COMMANDS and not args[0].startswith("-"):
            if near := nearest(args[0], usage.COMMANDS):
                raise UsageError(f"there is no command {args[0]!r}; did you mean {near}?")
            from agent_cli.repl.commands import commands  # it takes as long as a session

            if (slash := f"/{args[0]}") in commands.registry():
                shells = [shell for shell, each in commands.SLASH.items() if each == slash]
                instead = f"; in a shell it is `agent {shells[0]}`" if shells else ""
                raise UsageError(f"{slash} is a command of a session{instead}")
            question = one_line(" ".join(args), 60)
            raise UsageError(f'there is no such command; a question is asked with `agent ask`: agent ask "{question}"')
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(usage.help())

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _exit_on_closed_output(), _usage_errors():
            return super().make_context(*args, **kwargs)

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        if args and args[-1] in ("-r", "--resume") and not set(args) & set(usage.COMMANDS):
            args = [*args, ""]  # `start` reports the missing session
        return super().parse_args(ctx, in_front(args, self, ctx))

    def invoke(self, ctx: Any) -> Any:
        with _exit_on_closed_output(), _usage_errors():
            try:
                result = super().invoke(ctx)
                if ctx.obj:
                    ctx.obj.update_index()
                return result
            except AgentError as error:
                output.fail(error)
            except (typer.Exit, _ClickUsageError, BrokenPipeError):
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


@contextmanager
def _exit_on_closed_output() -> Iterator[None]:
    """Exit with 141 when the reader of the output has gone, with 129 when its terminal has, with an error when a disk
    is full or fails."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EIO and not any(map(terminal.has_gone, range(3))):
            output.fail(AgentError("a file cannot be read or written: its disk reports an error"))
        if error.errno not in (errno.EPIPE, errno.ENOSPC, errno.EIO):
            raise
        _discard_output(sys.stdout)
        if error.errno == errno.ENOSPC:
            output.fail(AgentError("the output cannot be written: no space is left on that disk"))
        _discard_output(sys.stderr)  # the reader has gone, and may have read this stream too
        sys.exit(129 if error.errno == errno.EIO else 141)


@contextmanager
def _usage_errors() -> Iterator[None]:
    """Print the errors of Typer as those of the program, with the command whose help says more."""
    try:
        yield
    except _ClickUsageError as error:
        if found := re.match(r"No such command '([^']*)'", error.message):
            near = nearest(found[1], error.ctx.command.list_commands(error.ctx))
            error.message = f"there is no command {found[1]!r}" + (f"; did you mean {near}?" if near else "")
        words = re.sub(r" \(Possible options: ([^()]*)\)$", r"; did you mean \1?", error.format_message().rstrip("."))
        help = f" (`{error.ctx.command_path} --help` says more)" if error.ctx else ""
        output.fail(UsageError(f"{words[:1].lower()}{words[1:]}{help}"))


def _discard_output(stream: TextIO) -> None:
    """Discard what the stream still holds and whatever is written to it later."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


app = group(cls=LazyGroup, pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]})


def start(context: typer.Context, **options: Any) -> None:
    """A terminal assistant that remembers. Without a command it starts a conversation."""
    invocation = Invocation(**options)
    output.set_look(invocation.color, plain=invocation.plain)
    if invocation.screen_reader:
        os.environ["ACCESSIBLE"] = "1"  # where all that draws looks
    if CHILD in os.environ:  # the clock decides what expires, so it stays that of the process that started this one
        os.environ["AGENT_NOW"] = os.environ[CHILD].removeprefix("1")
    else:
        sealing.KEYS.ask = terminal.secret
    secret = os.environ.pop(sealing.VARIABLE, "")  # no process that this one starts has it in its environment
    sealing.KEYS.variable = sys.stdin.readline() if secret == "-" else secret
    os.environ[CHILD] = f"1{os.environ.get('AGENT_NOW', '')}"  # seen by every process that this one starts
    invocation.check()
    given = [name for name in _MODEL_OPTIONS if options[name]]
    if given and context.invoked_subcommand not in _MODEL_COMMANDS:
        option = f"--{given[0].replace('_', '-')}"
        raise UsageError(f"{option} is for a conversation and for `agent ask`: other commands work on the file")
    asks_which = invocation.resume is not None and not invocation.resume.strip()
    at_terminal = context.invoked_subcommand is None and sys.stdin.isatty() and sys.stdout.isatty()
    if asks_which and not at_terminal:
        raise UsageError("-r needs a session: its handle or words in it; `agent sessions list` shows the latest")
    context.obj = invocation
    if context.invoked_subcommand is not None:
        return
    if invocation.interactive or not sys.stdin.isatty():
        from agent_cli.cli import ask  # not needed for a conversation

        ask.answer(ask.AskOptions(invocation, []))
    elif not at_terminal:
        raise UsageError("no prompt is given and the output is not a terminal; use `agent ask`")
    elif asks_which:
        invocation.resume_chosen()
    else:
        invocation.converse(invocation.chosen_session())


_context = Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
start.__signature__ = Signature([_context, *signature(Invocation).parameters.values()])  # type: ignore[attr-defined]
app.callback(invoke_without_command=True)(start)


def _end(number: int, _: FrameType | None) -> None:
    for each in _ENDING:
        signal.signal(each, lambda *_: None)  # a second one, as of `timeout`, would cut off what ends in order
    sys.exit(128 + number)


def main() -> None:
    """The console script. On SIGTERM and SIGHUP it exits in order, so that an answer cut off is kept."""
    for number in _ENDING:
        signal.signal(number, _end)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # it was closed, as by <&-
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
        getattr(sys, name).reconfigure(encoding="utf-8", errors="replace")
    sys.argv = [without_surrogates(word) for word in sys.argv]
    app(prog_name="agent")
