"""How groups, commands, options and arguments are declared, and those that several commands have."""

from collections.abc import Callable
from functools import update_wrapper
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, Literal, TypeVar

from typer import Argument, Context, Option, Typer
from typer._click import types
from typer.core import TyperCommand, TyperGroup

from agent_cli import terminal
from agent_cli.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])


def _range(numbers: Any) -> str:
    """A range in words, where Typer writes 1<=x<=64."""
    return f"{numbers.min} or more" if numbers.max is None else f"{numbers.min} to {numbers.max}"


types.IntRange.name = types.FloatRange.name = "number"
types.IntRange._describe_range = types.FloatRange._describe_range = _range  # type: ignore[method-assign, assignment]


class Decision(TyperCommand):
    """A command that changes, hides or erases for the person: no program that the assistant started may run it."""

    def invoke(self, ctx: Any) -> Any:
        if ctx.obj.child:
            raise UsageError(terminal.OF_ASSISTANT)
        return super().invoke(ctx)


class Noun(TyperGroup):
    """A group that names things: without a command it lists or shows them, with the options of that."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = [next(name for name in ("list", "show", "status") if name in self.commands), *args]
        return super().parse_args(ctx, args)


class Commands(Typer):
    """A group whose commands are given the app, or the invocation, where their first parameter is named so."""

    def command(self, *names: Any, decides: bool = False, **settings: Any) -> Callable[[F], F]:
        settings |= {"cls": Decision} if decides else {}
        register = super().command(*names, **settings)

        def decorate(function: F) -> F:
            register(_with_context(function))
            return function

        return decorate


def _with_context(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as Typer calls it, with the context of Click."""
    first, *others = signature(function).parameters.values() or [None]
    if first is None or first.name not in ("app_", "invocation"):
        return function

    def called(context: Context, **values: Any) -> Any:
        return function(context.obj.app() if first.name == "app_" else context.obj, **values)

    update_wrapper(called, function).__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=Context), *others]
    )
    return called


def group(help: str = "", **settings: Any) -> Commands:
    """A group of commands, or without help the place of a single one."""
    if help:
        settings["help"] = help
    return Commands(add_completion=False, rich_markup_mode=None, **settings)


def noun(help: str) -> Commands:
    return group(help, cls=Noun)


def option(names: str, help: str, default: Any = None, **settings: Any) -> Any:
    """An option of a command, by its names as in "-m, --model"; for `default` ... one must be given."""
    return Option(default, *names.split(", "), help=help, **settings)


def flag(names: str, help: str, **settings: Any) -> Any:
    """An option that is given or not."""
    return option(names, help, False, **settings)


def argument(help: str = "", default: Any = ..., **settings: Any) -> Any:
    """A word behind a command; without a default it must be given."""
    return Argument(default, help=help, **settings)


AsJson = Annotated[bool, Option("--json", help="As JSON.")]
Limit = Annotated[int, Option("--limit", min=1, help="Show at most this many.")]
Hidden = Annotated[bool, Option("--hidden", help="Those that `rm` has hidden.")]
EveryState = Annotated[bool, Option("--all", help="In every state.")]
Until = Annotated[str | None, Option("--until", help="Up to and including this day.")]
Yes = Annotated[bool, Option("--yes", help="Do not ask.")]
ConfirmRead = Annotated[bool, Option("--yes", help="Confirm that you have read them.")]
NewWords = Annotated[list[str] | None, Argument(help="Its new words; without them your editor opens.")]
PeriodUnit = Literal["session", "day", "week", "month", "quarter", "year"]
"""What a summary covers: one session, or a period of this length."""
