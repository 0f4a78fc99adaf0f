"""How the options and arguments of commands are declared, and those that several commands have."""

from typing import Annotated, Any, Literal

from typer import Argument, Option


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
