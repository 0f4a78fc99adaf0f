"""Which predicates have one value at a time: a new value ends the old one, by its date and without asking a model."""

from collections.abc import Mapping

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
    "lives_in": "live home city wohne wohnt wohnst daheim",
    "works_at": "work job employer company arbeite arbeitet arbeitgeber firma",
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
    "wife": "wife married frau verheiratet",
    "husband": "husband married mann verheiratet",
    "sister": "sister sibling schwester geschwister",
    "brother": "brother sibling bruder geschwister",
    "mother": "mother parent mum mom mutter eltern",
    "father": "father parent dad vater eltern",
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


def single_valued(settings: Mapping[str, str]) -> frozenset[str]:
    """The single-valued predicates: the ones above, changed by the settings ({predicate: "one" or "many"})."""
    known = dict.fromkeys(_SINGLE_VALUED.split(), ONE) | dict(settings)
    return frozenset(predicate for predicate, values in known.items() if values == ONE)


SINGLE_VALUED = single_valued({})
