"""Which predicates have one value at a time: a new value ends the old one, by its date and without asking a model."""

from collections.abc import Mapping

ONE, MANY = "one", "many"

_ONE = """name lives_in works_at works_as email phone birthday born_on age married_to partner
    prefers.editor prefers.shell prefers.language prefers.browser prefers.units prefers.theme
    drives doctor dentist address_of answers_at"""


def single(settings: Mapping[str, str]) -> frozenset[str]:
    """The single-valued ones: those known here, changed by the person's own table of "one" and "many"."""
    known = dict.fromkeys(_ONE.split(), ONE) | dict(settings)
    return frozenset(predicate for predicate, values in known.items() if values == ONE)


SINGLE = single({})
