"""What may be the object of a triple. Each test takes the object and whether the statement is in lower case."""

import re

from agent_cli.text import Pattern

MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december|januar|jänner|februar"
    r"|feber|märz|mai|juni|juli|oktober|dezember)"
)
_PRONOUN_WORDS = """
    it this that these those them him her me you us so too how what there here something anything everything
    nothing es das dies ihn sie dich mich uns euch etwas alles so wie was hier dort dich
"""
PRONOUNS = frozenset(_PRONOUN_WORDS.split())
_GENERIC_WORDS = """
    home school university night day work peace fear sin hiding hope stadt nähe haus wohnung dorf mitte land
    zentrum city town country suburbs village house flat apartment middle area north south east west past future
    present bank company firma schule hospital krankenhaus myself mir mich arbeit hause
"""
_GENERIC = frozenset(_GENERIC_WORDS.split())
_NATIONALITY = Pattern(
    r"(?:(?<=\w{3})(?:ian|ish|ese)|German|American|Mexican|Swiss|French|Dutch|Greek|Czech|Thai|Catholic|Muslim|Jew|Vegan"
    r"|(?<=\w{4})(?:in|er|eur|ist|ent|ant))$"
)


def is_any(object: str, small: bool) -> bool:
    return not re.match(r"(?:to|that|how|when|dass|zu|being|doing)\b", object, re.IGNORECASE)


def is_proper_name(object: str, small: bool) -> bool:
    """Capitalized, unless the statement is in lower case."""
    return (object[0].isupper() or object[0].isdigit() or (small and len(object.split()) <= 2)) and not re.search(
        r"\b(?:and|or|und|oder|with|mit)\b", object
    )


def is_place(object: str, small: bool) -> bool:
    first = object.split()[0].casefold()
    return is_proper_name(object, small) and first not in _GENERIC and not re.match(r"\d{1,4}$", object)


def is_person(object: str, small: bool) -> bool:
    return (
        is_proper_name(object, False)
        and len(object.split()) <= 3
        and not _NATIONALITY.search(object.split()[0])
        and all(word[0].isupper() or word in ("von", "van", "de", "der") for word in object.split())
    )


def is_given_name(object: str, small: bool) -> bool:
    """A name after "is called", whatever its ending."""
    return is_proper_name(object, False) and len(object.split()) <= 4


def is_job(object: str, small: bool) -> bool:
    return (
        not re.search(r"\b(?:at|for|in|bei|für|and|und|or|oder|well|much|hard)\b", object) and len(object.split()) <= 4
    )


def is_tool(object: str, small: bool) -> bool:
    """A name, a number, or one word for a tool or a color."""
    one = re.fullmatch(r"[\w@.+#/-]+", object)
    return bool((is_proper_name(object, False) or one) and not re.search(r"(?:ing|ed)$", object.split()[0]))


def is_age(object: str, small: bool) -> bool:
    return 0 < int(object) < 130


def is_day(object: str, small: bool) -> bool:
    return bool(re.search(r"\d|" + MONTH, object, re.IGNORECASE)) and len(object.split()) <= 5


def is_year(object: str, small: bool) -> bool:
    return object.isdigit() and 1900 <= int(object) < 2100


def is_mail_address(object: str, small: bool) -> bool:
    return bool(re.fullmatch(r"[^\s@]+@[^\s@]+\.\w{2,}", object))


def is_phone_number(object: str, small: bool) -> bool:
    return bool(re.fullmatch(r"\+?[\d(][\d ()/.-]{4,22}", object))


def is_network_address(object: str, small: bool) -> bool:
    return bool(re.search(r"[\d.:/]", object)) and " " not in object


def is_likeable(object: str, small: bool) -> bool:
    return is_any(object, small) and object.split()[0].casefold() not in PRONOUNS and "," not in object


def is_possession(object: str, small: bool) -> bool:
    return not re.search(
        r"\b(?:meeting|appointment|question|problem|idea|feeling|look|call|date|termin|frage|idee|problem|bit"
        r"|lot|moment"
        r"|headache|cold|exam|flight|minute|hour|day)\b",
        object,
        re.IGNORECASE,
    )


def is_value(object: str, small: bool) -> bool:
    """A name or something with digits; a state, as in "is broken", is no value."""
    return bool(is_proper_name(object, False) or re.search(r"\d|@", object))
