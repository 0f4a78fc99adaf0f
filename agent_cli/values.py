"""`@frozen`: a frozen dataclass that costs a third at the start.

`dataclass` writes and compiles six methods for each class, 0.6 ms a class, and a command imports eighty of them to use
twenty: a third of a short run. Here five of the six are written once for all, and `__init__` is compiled when the
first value of its class is made. All else is a dataclass: `fields`, `replace`, `asdict`, `field` and `match` work.
"""

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

_T = TypeVar("_T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[_T]) -> type[_T]:
    """Make the class one of values: compared and hashed by what they hold, and never changed."""
    cls.__doc__ = cls.__doc__ or cls.__name__  # else dataclass makes a signature of it
    for name, method in _METHODS.items():
        if name not in cls.__dict__:
            setattr(cls, name, method)
    return dataclass(init=False, repr=False, eq=False)(cls)


def _first(self: Any, *given: Any, **named: Any) -> None:
    cls: Any = next(each for each in type(self).__mro__ if each.__dict__.get("__init__") is _first)
    cls.__init__ = _written(cls)
    cls.__init__(self, *given, **named)


def _shown(self: Any) -> str:
    told = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({told})"


def _equal(self: Any, other: object) -> Any:
    cls: Any = type(self)
    compared = _compared(cls)
    return compared(self) == compared(other) if other.__class__ is cls else NotImplemented


def _hashed(self: Any) -> int:
    cls: Any = type(self)
    return hash(_compared(cls)(self))


def _set(self: Any, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _deleted(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


_METHODS = {
    "__init__": _first,
    "__repr__": _shown,
    "__eq__": _equal,
    "__hash__": _hashed,
    "__setattr__": _set,
    "__delattr__": _deleted,
}


@cache
def _compared(cls: Any) -> Callable[[Any], Any]:
    """What of a value is compared."""
    names = [each.name for each in fields(cls) if each.compare]
    return attrgetter(*names) if names else lambda _: ()


def _written(cls: Any) -> Callable[..., None]:
    """Its `__init__`, as dataclass would write it."""
    every = [each for each in fields(cls) if each.init]
    names: dict[str, Any] = {"_put": object.__setattr__, "_made": MISSING}
    given = [_parameter(each, names) for each in every if not each.kw_only]
    if last := [_parameter(each, names) for each in every if each.kw_only]:
        given += ["*", *last]
    body = [f" _put(self, {each.name!r}, {_value(each)})" for each in every]
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    exec(f"def __init__({', '.join(['self', *given])}):\n" + "\n".join(body or [" pass"]), names)
    return names["__init__"]  # type: ignore[no-any-return]


def _parameter(each: "Field[Any]", names: dict[str, Any]) -> str:
    """How it stands among the parameters; what it is when it is not given goes into `names`."""
    if each.default is not MISSING:
        names[f"_default_{each.name}"] = each.default
        return f"{each.name}=_default_{each.name}"
    if each.default_factory is not MISSING:
        names[f"_make_{each.name}"] = each.default_factory
        return f"{each.name}=_made"
    return each.name


def _value(each: "Field[Any]") -> str:
    if each.default_factory is MISSING:
        return each.name
    return f"_make_{each.name}() if {each.name} is _made else {each.name}"
