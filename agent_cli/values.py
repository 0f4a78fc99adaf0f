"""`@frozen`: an immutable dataclass that costs next to nothing at import.

`dataclass` generates and compiles six methods for each class, a third of a short run. Here three of them are shared by
all classes, the fields are read when they are first asked for, and `__init__` is compiled when the first value of its
class is created. Otherwise it is a dataclass. That nobody changes a value is checked with the types.
"""

import threading
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

_T = TypeVar("_T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[_T]) -> type[_T]:
    """Make the class an immutable dataclass, compared and hashed by its fields."""
    cls.__doc__ = cls.__doc__ or cls.__name__  # else dataclass generates a signature
    on_first_use = {"__dataclass_fields__": _OnFirstUse(cls, _fields), "__match_args__": _OnFirstUse(cls, _match_args)}
    for name, value in {"__init__": _init_on_first_use(cls), **on_first_use, **_METHODS}.items():
        if name not in cls.__dict__:
            setattr(cls, name, value)
    return cls


class _OnFirstUse:
    """In the place of an attribute of a class: what is made of the class when it is asked for."""

    def __init__(self, cls: Any, make: Callable[[Any], Any]):
        self._cls, self._make = cls, make

    def __get__(self, instance: object, owner: object) -> Any:
        return self._make(self._cls)


_lock = threading.RLock()


def _fields(cls: Any) -> Any:
    """The fields of a class, which becomes a dataclass by it."""
    with _lock:
        if isinstance(cls.__dict__["__dataclass_fields__"], _OnFirstUse):
            dataclass(init=False, repr=False, eq=False, match_args=False)(cls)
    return cls.__dataclass_fields__


def _match_args(cls: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(cls) if each.init and not each.kw_only)


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
    names = [each.name for each in fields(cls) if each.compare]
    return attrgetter(*names) if names else lambda _: ()


_METHODS = {"__repr__": _repr, "__eq__": _eq, "__hash__": _hash}


def _init_on_first_use(cls: Any) -> Callable[..., None]:
    """An `__init__` that puts the compiled one in its place; two threads may call it at once."""

    def first(self: Any, *args: Any, **kwargs: Any) -> None:
        if cls.__dict__["__init__"] is first:
            cls.__init__ = _make_init(cls)
        cls.__dict__["__init__"](self, *args, **kwargs)

    return first


def _make_init(cls: Any) -> Callable[..., None]:
    names: dict[str, Any] = {"_made": MISSING}
    parameters, keyword_only, body = ["self"], ["*"], [" pass"]
    for each in fields(cls):
        name, default, value = each.name, "", each.name
        if each.default is not MISSING:
            names[f"_{name}"], default = each.default, f"=_{name}"
        elif each.default_factory is not MISSING:
            names[f"_{name}"], default = each.default_factory, "=_made"
            value = f"_{name}() if {name} is _made else {name}"
        (keyword_only if each.kw_only else parameters).append(name + default)
        body.append(f" self.{name} = {value}")
    signature = ", ".join([*parameters, *(keyword_only if keyword_only[1:] else [])])
    exec(f"def __init__({signature}):\n" + "\n".join(body), names)
    return names["__init__"]  # type: ignore[no-any-return]
