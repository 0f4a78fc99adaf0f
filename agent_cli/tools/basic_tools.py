"""Small tools: arithmetic, which a model is bad at, what happened today, and a draft of a message.

Every request names all tools and few are called: what a tool works with is imported when it runs, here and beside.
"""

import math
import operator
from collections.abc import Callable
from typing import Annotated, Any

from agent_cli.messages import Receipt, ToolResult
from agent_cli.text import one_line
from agent_cli.tools.tool import ToolContext, ToolFailed, tool

_MAX_CHARACTERS = 500  # of an expression
_MAX_DIGITS = 300  # of a result: more are of no use
# Of intermediate results: Python computes larger ones for minutes, and blocks every other thread.
_LIMIT = 10 ** (2 * _MAX_DIGITS)
_SIGNS = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "^": "**", "{": "(", "}": ")"})


@tool(risk="read", seconds=5.0, listed=False)
def calculate(context: ToolContext, sum: Annotated[str, "as in 12.5 * sqrt(2)"]) -> str:
    """Calculate."""
    expression = sum.strip().translate(_SIGNS)
    if len(expression) > _MAX_CHARACTERS:
        raise ToolFailed(f"the expression is too long: at most {_MAX_CHARACTERS} characters")
    try:
        result = _evaluate(expression)
    except ZeroDivisionError:
        raise ToolFailed("it divides by zero") from None
    except Exception as error:  # whatever simpleeval and the functions raise, the expression is wrong
        raise ToolFailed(f"{one_line(sum)!r} cannot be calculated: {one_line(str(error), 200)}") from error
    return f"{expression} = {_format(result)}"


@tool(risk="read", reads_memory=True, listed=False)
def summarize_today(context: ToolContext) -> str:
    """What was done today, and what is due."""
    from agent_cli.memory.reports import signals

    summary = signals.format_day(context.remembered, context.scope.owner, context.time())
    return summary or "nothing has happened today yet"


@tool(risk="write", listed=False)
def draft_message(context: ToolContext, to: str, text: str) -> ToolResult:
    """Keep a draft as a note; it is never sent."""
    from agent_cli.memory.planner import notes

    if not text.strip():
        raise ToolFailed("the message is empty")
    title = one_line(f"draft to {to.strip() or 'somebody'}", 120)
    note = notes.add(
        context.db, context.scope, text, context.time, title=title, origin="model", session=context.session
    )
    return ToolResult(
        f"kept as the draft {note.handle}; it was not sent: the person has to send it",
        receipt=Receipt(f"saved {note.handle} “{note.name}”, not sent"),
    )


def _evaluate(expression: str) -> float:
    import simpleeval  # late: only needed to calculate

    functions: dict[str, Callable[..., Any]] = {
        name: getattr(math, name)
        for name in ("sqrt", "floor", "ceil", "log", "log10", "log2", "exp", "sin", "cos", "tan", "atan", "gcd", "lcm")
    } | {"abs": abs, "round": _round, "min": min, "max": max, "factorial": _factorial}
    reader = simpleeval.SimpleEval(
        operators={kind: _bounded(does) for kind, does in _operators().items()},
        functions={name: _bounded(does) for name, does in functions.items()},
        names={"pi": math.pi, "e": math.e, "tau": math.tau},
    )
    result = reader.eval(expression)
    if isinstance(result, bool) or not isinstance(result, int | float):
        raise ValueError("the result is not a number")
    return result


def _operators() -> dict[type, Callable[..., Any]]:
    import ast  # late, like simpleeval, which uses it too

    return {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.Div: operator.truediv,
        ast.FloorDiv: operator.floordiv,
        ast.Mod: operator.mod,
        ast.Pow: _power,
        ast.USub: operator.neg,
        ast.UAdd: operator.pos,
    }


def _bounded(does: Callable[..., Any]) -> Callable[..., Any]:
    """The function, refusing operands that are no numbers or too large."""

    def bounded(*operands: Any) -> Any:
        if not all(isinstance(each, int | float) for each in operands):
            raise ValueError("it contains something that is not a number")
        if any(isinstance(each, int) and abs(each) > _LIMIT for each in operands):
            raise ToolFailed(f"a number in it has more than {2 * _MAX_DIGITS} digits")
        return does(*operands)

    return bounded


def _power(base: float, exponent: float) -> Any:
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * exponent > _LIMIT.bit_length():
        raise ValueError("the power is too large")
    return base**exponent


def _round(of: float, digits: int = 0) -> float:
    """Rounds to tens and hundreds too, as in round(1234, -2)."""
    return round(of, max(-_MAX_DIGITS, digits)) if digits else round(of)


def _factorial(of: int) -> int:
    if of > 150:
        raise ValueError("the factorial is too large")
    return math.factorial(of)


def _format(result: float) -> str:
    """A number with 12 digits, so that 0.1 + 0.2 is 0.3. Raises ToolFailed when it is too long."""
    if isinstance(result, int):
        if abs(result) >= 10**_MAX_DIGITS:
            raise ToolFailed(f"the result has more than {_MAX_DIGITS} digits")
        return str(result)
    if not math.isfinite(result):
        raise ToolFailed("the result is too large")
    return f"{result:.12g}"
