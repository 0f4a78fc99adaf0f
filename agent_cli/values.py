"""`@frozen`: a frozen dataclass that costs next to nothing at import.

`dataclass` generates and compiles six methods for each class, and a command imports eighty classes to use twenty: a
third of a short run. Here five of the methods are shared by all classes, the fields are read when they are first asked
for, and `__init__` is compiled when the first value of its class is created. Otherwise it is a dataclass: `fields`,
`replace`, `asdict`, `field` and `match` work.
"""

import threading
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

_T = TypeVar("_T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[_T]) -> type[_T]:
    """Make the class an immutable dataclass, compared and hashed by its fields."""
    cls.__doc__ = cls.__doc__ or cls.__name__  # else dataclass generates a signature
    on_first_use = {
        "__init__": _init_on_first_use(cls),
        "__dataclass_fields__": _Fields(cls),
        "__match_args__": _MatchArgs(cls),
    }
    for name, value in {**on_first_use, **_METHODS}.items():
        if name not in cls.__dict__:
            setattr(cls, name, value)
    return cls


class _Fields:
    """In the place of the fields of a class until they are asked for: it makes a dataclass of the class."""

    _lock = threading.RLock()

    def __init__(self, cls: Any):
        self._cls = cls

    def __get__(self, instance: object, owner: object) -> Any:
        cls = self._cls
        with self._lock:
            if cls.__dict__["__dataclass_fields__"] is self:
                dataclass(init=False, repr=False, eq=False, match_args=False)(cls)
        return cls.__dataclass_fields__


class _MatchArgs:
    """The names of the fields that a pattern matches by their place."""

    def __init__(self, cls: Any):
        self._cls = cls

    def __get__(self, instance: object, owner: object) -> tuple[str, ...]:
        return tuple(each.name for each in fields(self._cls) if each.init and not each.kw_only)


def _repr(self: Any) -> str:
    values = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({values})"


def _eq(self: Any, other: object) -> Any:
    cls: Any = type(self)
    key_of = _comparison_key(cls)
    return key_of(self) == key_of(other) if other.__class__ is cls else NotImplemented


def _hash(self: Any) -> int:
    cls: Any = type(self)
    return hash(_comparison_key(cls)(self))


@cache
def _comparison_key(cls: Any) -> Callable[[Any], Any]:
    """The function that returns a value's compared fields."""
    names = [each.name for each in fields(cls) if each.compare]
    return attrgetter(*names) if names else lambda _: ()


def _refuse_change(self: Any, name: str, *value: object) -> None:
    raise FrozenInstanceError(f"cannot change field {name!r}")


_METHODS = {
    "__repr__": _repr,
    "__eq__": _eq,
    "__hash__": _hash,
    "__setattr__": _refuse_change,
    "__delattr__": _refuse_change,
}


def _init_on_first_use(cls: Any) -> Callable[..., None]:
    """An `__init__` that puts the compiled one in its place; two threads may call it at once."""

    def first(self: Any, *args: Any, **kwargs: Any) -> None:
        made = cls.__dict__["__init__"]
        if made is first:
            made = cls.__init__ = _make_init(cls)
        made(self, *args, **kwargs)

    return first


def _make_init(cls: Any) -> Callable[..., None]:
    """The class's `__init__`, as dataclass would generate it."""
    names: dict[str, Any] = {"_made": MISSING}

    def parameter(each: "Field[Any]") -> str:
        """The field's parameter in source code; its default is added to `names`."""
        if each.default is not MISSING:
            names[f"_default_{each.name}"] = each.default
            return f"{each.name}=_default_{each.name}"
        if each.default_factory is not MISSING:
            names[f"_make_{each.name}"] = each.default_factory
            return f"{each.name}=_made"
        return each.name

    def argument(each: "Field[Any]") -> str:
        if each.default_factory is MISSING:
            return each.name
        return f"_make_{each.name}() if {each.name} is _made else {each.name}"

    init_fields = [each for each in fields(cls) if each.init]
    parameters = ["self", *(parameter(each) for each in init_fields if not each.kw_only)]
    if keyword_only := [parameter(each) for each in init_fields if each.kw_only]:
        parameters += ["*", *keyword_only]
    # Into the dictionary: a third of the time of object.__setattr__ for each field.
    body = [" _values = self.__dict__", *(f" _values[{each.name!r}] = {argument(each)}" for each in init_fields)]
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n" + "\n".join(body), names)
    return names["__init__"]  # type: ignore[no-any-return]
