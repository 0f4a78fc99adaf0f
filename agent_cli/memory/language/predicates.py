"""Which predicates have one value at a time: a new value ends the old one, by its date and without asking a model."""

from collections.abc import Mapping, Set
from functools import cache

from agent_cli.memory.language import triples

ONE, MANY = "one", "many"

_SINGLE_VALUED = """
    name lives_in works_at works_as studies_at comes_from email phone birthday born_on born_in age married_to
    partner wife husband spouse girlfriend boyfriend mother father boss manager landlord doctor dentist drives
    address_of address answers_at work_email work_phone license_plate blood_type shoe_size height username
    timezone time_zone native_language operating_system os editor shell browser terminal theme keyboard_layout
    currency diet router prefers.editor prefers.shell prefers.language prefers.browser prefers.units
    prefers.theme prefers.color prefers.food prefers.drink prefers.font prefers.terminal prefers.keyboard
    prefers.os prefers.operating_system prefers.band prefers.music prefers.book prefers.film prefers.movie
    prefers.team prefers.season prefers.animal prefers.number prefers.programming_language prefers.search_engine
    prefers.package_manager prefers.formatter prefers.linter prefers.test_framework prefers.database
    prefers.framework prefers.currency prefers.date_format
"""

_SYNONYMS = {  # words of a question that a statement may express differently
    "lives_in": "live home city move moved moving relocated wohne wohnt wohnst daheim gezogen umgezogen ziehe ziehen",
    "works_at": "work job employer company started joined arbeite arbeitet arbeitgeber firma angefangen begonnen",
    "works_as": "work job profession occupation beruf arbeite",
    "studies_at": "study university studiere studium",
    "comes_from": "from origin herkunft komme",
    "email": "email mail address adresse",
    "phone": "phone telephone mobile number telefon nummer handy",
    "birthday": "birthday geburtstag",
    "born_on": "born birthday birth geburtstag geboren",
    "born_in": "born birthplace geboren geburtsort",
    "age": "old age alt alter",
    "name": "name called heiße",
    "married_to": "married wife husband spouse verheiratet frau mann",
    "wife": "wife married spouse frau verheiratet",
    "husband": "husband married spouse mann verheiratet",
    "sister": "sister sibling schwester geschwister",
    "brother": "brother sibling bruder geschwister",
    "mother": "mother parent mum mummy mom mama mutti mutter eltern",
    "father": "father parent dad daddy papa vati vater eltern",
    "grandmother": "grandmother grandma granny oma großmutter",
    "grandfather": "grandfather grandpa opa großvater",
    "partner": "partner wife husband spouse girlfriend boyfriend frau mann freund freundin",
    "girlfriend": "girlfriend partner freundin",
    "boyfriend": "boyfriend partner freund",
    "son": "son child sohn kind kinder",
    "daughter": "daughter child tochter kind kinder",
    "dog": "dog pet hund haustier",
    "cat": "cat pet katze haustier",
    "allergic_to": "allergic allergy allergisch allergie",
    "likes": "like mag",
    "dislikes": "dislike hate",
    "drives": "drive car auto fahre",
    "speaks": "speak language sprache",
    "answers_at": "address ip adresse",
}


def search_words(predicate: str) -> str:
    """Further words that a fact with this predicate is found by."""
    plain = predicate.removeprefix("prefers.").replace("_", " ")
    return (
        f"prefer favourite favorite {plain}"
        if plain != predicate.replace("_", " ")
        else _SYNONYMS.get(predicate, plain)
    )


def named_by(word: str) -> frozenset[str]:
    """The predicates of the relation that a word (case folded) stands for: of "schwester" and of "sibling" sister."""
    return _predicates_by_word().get(word, frozenset()) | {triples.predicate(word)}


@cache
def _predicates_by_word() -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for predicate, words in _SYNONYMS.items():
        for word in words.split():
            found.setdefault(word, set()).add(predicate)
    return {word: frozenset(predicates) for word, predicates in found.items()}


def forms(predicate: str, single_valued: Set[str]) -> list[str]:
    """The predicates that say the same: of what has one value, "my editor" is the editor that I prefer."""
    plain = predicate.removeprefix("prefers.")
    both = [plain, f"prefers.{plain}"]
    return both if set(both) <= single_valued else [predicate]


def single_valued(settings: Mapping[str, str]) -> frozenset[str]:
    """The single-valued predicates: the ones above, changed by the settings ({predicate: "one" or "many"})."""
    known = dict.fromkeys(_SINGLE_VALUED.split(), ONE) | dict(settings)
    return frozenset(predicate for predicate, values in known.items() if values == ONE)


SINGLE_VALUED = single_valued({})
