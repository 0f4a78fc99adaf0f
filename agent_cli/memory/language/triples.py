"""What a statement says, by rules, as a triple: "I live in Graz" is (person, lives_in, Graz); what it says is over;
which predicates have one value at a time, so that a new value ends the old one without asking a model.

Two facts with the same triple count as one fact, so a rule must match the whole sentence except for a date. A sentence
with a doubt ("perhaps") or a second clause gives no triple, nor does a plan without a date. One that denies something
has the opposite predicate: "I do not live in Graz" is (person, not.lives_in, Graz), "I do not like tea" dislikes it.
"""

import re
import unicodedata
from collections.abc import Mapping, Set
from dataclasses import replace
from datetime import datetime
from functools import cache
from itertools import product
from typing import NamedTuple

from agent_cli.memory.language import languages, spans, terms
from agent_cli.messages import Origin
from agent_cli.text import Pattern
from agent_cli.values import frozen

PERSON = "person"
DATED = frozenset(["lives_in", "works_at", "works_as", "age", "married_to", "studies_at", "answers_at"])
"""Predicates of the rules that drop a date: it says from when the statement is true."""
ONE = "one"  # value of a predicate at a time, and not "many"
MAX_LENGTH = 300  # characters of a statement
_NOT_A_FACT = languages.pattern(  # a question, or an instruction to the assistant
    r"^<QUESTION_OPENING>\b(?=.*\?)|\?[^\w?]*$|^<INSTRUCTION>\b|\b<INSTRUCTIONS_MEANT>\b|\b<ASSISTANT_MUST>\b"
)
_MAX_LENGTH = 200  # characters of a statement that is parsed
_MAX_OBJECT_WORDS = 6
_DENYING, _NOT_DENYING = languages.pattern(r"<DENYING>"), languages.pattern(r",|\b<NOT_DENYING>\b")
_SECOND_CLAUSE = languages.pattern(
    r"\b<SECOND_CLAUSE> (?:\w+ )*<CLAUSE_VERB>\b|, <NEXT_CLAUSE>\b"
    r"|(?<!\d)(?<!\b[DM]r)(?<!\bMrs)(?<!\bSt)(?<!Prof)(?<!Mag)(?<!\b[A-Z])[.!?;] "
)
_ARTICLE, _INDEFINITE = languages.pattern(r"^<ARTICLE>\s+"), languages.pattern(r"<INDEFINITE_ARTICLE>\s")
_NO_OBJECT, _NO_JOB = languages.pattern(r"<NO_OBJECT>\b"), languages.pattern(r"\b<NO_JOB>\b")
_JOINING, _NO_POSSESSION = languages.pattern(r"\b<JOINING>\b"), languages.pattern(r"\b<NO_POSSESSION>\b")
_NEW = languages.pattern(r"^<NEW> ")
_SCHOOL = languages.pattern(r"\b<SCHOOL>\b")
_NATIONALITY = Pattern(rf"{languages.alternatives('NATIONALITY')}$")
_DAY = Pattern(rf"\d|{spans.MONTH}", re.IGNORECASE)
_PRONOUNS, _NO_PLACES = languages.words("PRONOUNS"), languages.words("NO_PLACES")

_NAME = (  # capitalized, and not a pronoun
    rf"(?-i:(?!{languages.alternatives('NO_NAME')}\b){languages.alternatives('TITLE')}?"
    r"[A-ZÄÖÜÉ](?:[\w-]|['’](?!s\b))*(?: (?:von|van|de|der|la|le|di|[A-ZÄÖÜÉ](?:[\w-]|['’](?!s\b))*\.?)){0,3})"
)
KIN = {each.split(":")[0]: each.split(":")[-1] for each in sorted(languages.words("KIN"))}
"""How relations to the person are said, and their predicates."""
RELATIVE = "my "  # the subject "my mother" begins with it
RELATION = languages.pattern(rf"<POSSESSIVE> (?P<kin>{'|'.join(sorted(KIN, key=len, reverse=True))})\b")
_PREDICATES = dict(pair.split(":") for pair in languages.words("PREDICATES"))
_OPPOSITES, _NOT = {"likes": "dislikes", "dislikes": "likes"}, "not."
_SEARCH_WORDS: dict[str, str] = {}  # of a question, which a statement may express differently
for _pair in " ".join(languages.values("SEARCH_WORDS")).split():
    _predicate, _words = _pair.split("=")
    _SEARCH_WORDS[_predicate] = f"{_SEARCH_WORDS.get(_predicate, '')} {_words.replace(',', ' ')}".strip()
_PLACES = {  # in the rules of a language
    "<NAME>": _NAME,
    "<WHO>": f"(?:<ME>|<NAMED>(?P<subject>{_NAME})|<RELATIVE>)",
    "<WHO_IS>": f"(?:<I_AM>|(?:<NAMED>(?P<subject>{_NAME})|<RELATIVE>) <IS>)",
    "<RELATIVE>": "(?P<relative><POSSESSIVE> (?:<KIN>))",  # without a name
    "<WHOSE>": rf"(?P<subject>{_NAME})['’]?s",
    "<NAMED>": "(?:<POSSESSIVE> (?:<KIN>) )?",  # "my sister" in front of her name
    "<NOW>": "(?: <STILL>)*",
    "<WHEN>": f"(?: {spans.TIME_WORDS})?",  # in rules that are matched without the dates of a sentence
    "<OBJECT>": "(?P<object>.+)",
    "<GOAL>": "(?P<object>.+?)",
    "<KIN>": "|".join(KIN),
}


_SINGLE_VALUED = """name lives_in works_at works_as studies_at comes_from email phone birthday born_on born_in age
    married_to partner wife husband spouse girlfriend boyfriend mother father boss manager landlord doctor dentist
    drives address_of address answers_at work_email work_phone license_plate blood_type shoe_size height weight username
    timezone time_zone native_language operating_system os editor shell browser terminal theme keyboard_layout
    currency diet router"""
_PREFERRED = """editor shell language browser units theme color food drink font terminal keyboard os operating_system
    band music book film movie team season animal number programming_language search_engine package_manager formatter
    linter test_framework database framework currency date_format"""  # of each the person prefers one


@frozen
class Triple:
    """Who, what, whom: ("person", "lives_in", "Graz")."""

    subject: str
    predicate: str
    object: str


@frozen
class Claim:
    """A statement proposed as a fact. Its secrets are masked and its dates absolute."""

    statement: str
    origin: Origin
    triple: Triple | None = None
    quote: str = ""
    message: int | None = None  # id of the message that holds the quote
    trust: str = ""  # the least trusted origin among its sources; empty: `origin`
    inferred: bool = False
    operation: str = "insert"  # insert, update or delete the target
    target: int | None = None
    place: str = ""  # empty: everywhere
    session: int | None = None  # only in this session
    learned: datetime | None = None  # None: now
    valid_from: datetime | None = None  # None: from when it is learned
    valid_to: datetime | None = None
    source: str | None = None
    read_in: int | None = None  # id of a message with a file, a pipe or a tool's result in the turn that proposes it


def is_fact(statement: str) -> bool:
    """Whether a statement could be a fact: not empty, not long, no question, no instruction to the assistant."""
    return bool(re.search(r"\w", statement)) and len(statement) <= MAX_LENGTH and not _NOT_A_FACT.search(statement)


class _SentenceRule(NamedTuple):
    opening: Pattern  # how a sentence begins that it may match: tried first, because the pattern takes a millisecond
    pattern: Pattern
    predicate: str  # followed by the group "what", if any
    sort: str  # what the object must be: see `_fits`
    dated: bool = False  # whether "in June" is dropped too: elsewhere it may be the object
    only_dated: bool = False  # whether the sentence must have a date: "I'm moving to Linz"


def parse(statement: str) -> Triple | None:
    """Subject, predicate and object; None when no rule matches."""
    sentence = " ".join(statement.split()).strip(" .!")
    if not sentence or len(sentence) > _MAX_LENGTH or _SECOND_CLAUSE.search(sentence):
        return None
    stated = spans.without_future(sentence, sentence)
    certain = without_denial(stated)
    if terms.is_negated(certain) or _UNSURE.search(certain):
        return None
    has_date = bool(spans.PHRASE.search(sentence))
    timeless = spans.without(certain, times=True)
    plain = spans.without(certain, times=False)
    for rule in _rules():
        words = timeless if rule.dated else plain
        if (rule.only_dated and not has_date) or not rule.opening.match(words):
            continue
        match = rule.pattern.fullmatch(words)
        if match and (found := _triple(rule, match, sentence)):
            return found if certain == stated else replace(found, predicate=opposite(found.predicate))
    return None


def without_denial(sentence: str) -> str:
    """The sentence without what denies the whole of it: "Karl does not smoke" is "Karl smoke"."""
    if _NOT_DENYING.search(sentence) or _NO_LONGER.search(sentence):
        return sentence
    return _without(_DENYING, sentence, count=1)


def _triple(rule: _SentenceRule, match: re.Match[str], sentence: str) -> Triple | None:
    parts = match.groupdict()
    words = parts["object"].strip(" ,\"'“”„`")
    object = _ARTICLE.sub("", words, count=1)
    if not object or len(object.split()) > _MAX_OBJECT_WORDS or object.casefold() in _PRONOUNS:
        return None
    if rule.sort == "place" and _INDEFINITE.match(words):
        return None  # "in a flat", "for a bank": not a name
    what = predicate(parts["what"]) if "what" in parts else ""
    if not _fits(rule.sort, object, sentence == sentence.lower()) or not rule.predicate + what:
        return None
    subject = _ARTICLE.sub("", parts.get("subject") or "", count=1) or relative(parts.get("relative") or "")
    return Triple(subject or PERSON, rule.predicate + what, object)


def relative(sentence: str) -> str:
    """The relation to the person that a sentence begins with, in the same words however it is said: "my mother"."""
    found = RELATION.match(sentence)
    return f"{RELATIVE}{predicate(found['kin']).replace('_', '-')}" if found else ""


def opposite(predicate: str) -> str:
    """The predicate of what denies a triple with this one."""
    denied = predicate.removeprefix(_NOT)
    return _OPPOSITES.get(predicate) or (denied if denied != predicate else f"{_NOT}{predicate}")


def predicate(words: str) -> str:
    """The person's words for a relation as a predicate."""
    folded = (_NEW.sub("", words, count=1) if words[:1].islower() else words).casefold()  # not "New York"
    slug = KIN.get(folded.strip()) or re.sub(r"\W+", "_", unicodedata.normalize("NFC", folded)).strip("_")
    return _PREDICATES.get(slug, slug)


@cache
def _rules() -> list[_SentenceRule]:
    anybody = Pattern(languages.expand(rf"<ME>|<I_AM>|{_NAME}|<WE>|<POSSESSIVE>"), re.IGNORECASE)
    openings = {"<MY>": languages.pattern("<MY>"), "<WHO": anybody, "(?:<WHO": anybody, "": Pattern("")}
    rules = []
    for kind, language in product(("DATED_TRIPLES", "PLANNED_TRIPLES", "UNDATED_TRIPLES"), languages.ALL):
        for line in getattr(language, kind, "").strip("\n").splitlines():
            if not line.startswith("    "):
                predicate, sort, words = line.split(" ", 2)
                one_of = words.replace("<KIN>", _PLACES["<KIN>"]).split("|")
                continue
            filled = line.strip()
            opening = next(pattern for words, pattern in openings.items() if filled.startswith(words))
            for name, meant in _PLACES.items():
                filled = filled.replace(name, meant)
            pattern = Pattern(languages.expand(filled), re.IGNORECASE, one_of)
            dated, only_dated = kind != "UNDATED_TRIPLES", kind == "PLANNED_TRIPLES"
            rules.append(_SentenceRule(opening, pattern, predicate.strip("-"), sort, dated, only_dated))
    return rules


def _fits(sort: str, object: str, is_lower: bool) -> bool:
    """Whether an object is of the sort that a rule wants. `is_lower`: whether the statement is in lower case."""
    words = object.split()
    first = words[0]
    joined, possible = _JOINING.search(object), not _NO_POSSESSION.search(object)
    named = not joined and (first[0].isupper() or first[0].isdigit())
    likeable = not _NO_OBJECT.match(object) and first.casefold() not in _PRONOUNS and "," not in object
    is_job = not _NO_JOB.search(object) and len(words) <= 4
    is_place = named or (is_lower and len(words) <= 2 and not joined)  # capitalized, unless all is in lower case
    is_place = is_place and first.casefold() not in _NO_PLACES and not re.match(r"\d{1,4}$", object)
    capitalized = all(word[0].isupper() or word in ("von", "van", "de", "der") for word in words)
    one_word = re.fullmatch(r"[\w@.+#/-]+", object)
    number = int(object) if object.isdecimal() else 0
    return bool(
        {
            "any": not _NO_OBJECT.match(object),
            "likeable": likeable,
            "possession": possible,
            "activity": likeable and possible,
            "job": is_job,
            "sort": is_job and possible,
            "place": is_place,
            "school": is_place and _SCHOOL(object),
            "given_name": named and len(words) <= 4,  # whatever its ending
            "person": named and capitalized and len(words) <= 3 and not _NATIONALITY.search(first),
            # a name, a number, or one word for a tool or a color
            "tool": (named or one_word) and not re.search(r"(?:ing|ed)$", first),
            # a name or something with digits; a state, as in "is broken", is no value
            "value": named or re.search(r"\d|@", object),
            "age": 0 < number < 130,
            "day": _DAY(object) and len(words) <= 5,
            "year": 1900 <= number < 2100,
            "network_address": " " not in object and re.search(r"[\d.:/]", object),
            "mail_address": re.fullmatch(r"[^\s@]+@[^\s@]+\.\w{2,}", object),
            "phone_number": re.fullmatch(r"\+?[\d(][\d ()/.-]{4,22}", object),
        }[sort]
    )


def search_words(predicate: str) -> str:
    """Further words that a fact with this predicate is found by."""
    predicate = predicate.removeprefix(_NOT)
    plain = predicate.removeprefix("prefers.").replace("_", " ")
    if predicate.startswith("prefers."):
        return f"prefer favourite favorite {plain}"
    return _SEARCH_WORDS.get(predicate, plain)


def named_by(word: str) -> frozenset[str]:
    """The predicates of the relation that a word (case folded) stands for: of "schwester" and of "sibling" sister."""
    found = {each for each, words in _SEARCH_WORDS.items() if word in words.split()}
    return frozenset(found | {predicate(word)})


def forms(predicate: str, single_valued: Set[str]) -> list[str]:
    """The predicates that say the same: of what has one value, "my editor" is the editor that I prefer."""
    plain = predicate.removeprefix("prefers.")
    both = [plain, f"prefers.{plain}"]
    return both if set(both) <= single_valued else [predicate]


def single_valued(settings: Mapping[str, str]) -> frozenset[str]:
    """The single-valued predicates: the ones above, changed by the settings ({predicate: "one" or "many"})."""
    preferred = (f"prefers.{each}" for each in _PREFERRED.split())
    found = dict.fromkeys((*_SINGLE_VALUED.split(), *preferred), ONE) | dict(settings)
    return frozenset(predicate for predicate, values in found.items() if values == ONE)


SINGLE_VALUED = single_valued({})


# Sentences that say that something is over: "I no longer live in Wels", "tea instead of coffee". The words that say so
# are cut, so that what was true is left: "I live in Wels". Which facts it ends is decided in memory/facts/adoption.py.


@frozen
class Ending:
    over: str  # what was true, as far as the sentence says it
    instead: str = ""  # the sentence, or the value, that is true from now on
    of: frozenset[str] | None = None  # predicates of the facts that have it as their object; None: all of their words


is_about_person = languages.pattern(r"\b(?:<SELF>|<POSSESSIVE>)\b")
_UNSURE = languages.pattern(r"\b<DOUBT>\b|\?")
_NO_LONGER, _STOPPED = languages.pattern(r"\b<NO_LONGER>\b"), languages.pattern(r"\b<STOPPED>\b")
_NEGATED = languages.pattern(r"\b<NEGATED>\b|n['’]t\b")
_SOLD, _LEFT = languages.pattern(r"\b<SOLD>\b"), languages.pattern(r"\b<LEFT>\b")
_AS_WHAT = languages.pattern(r" <AS> .+")  # "Bosch as a tester"
_OWNING = frozenset(("drives", "owns", "has"))
OWNED = languages.pattern(  # "our car is a red Skoda"
    rf"<POSSESSIVE> (?!(?:{'|'.join(KIN)})\b)[\w-]+ <IS> <INDEFINITE_ARTICLE> (?P<object>.+)"
)
_SWITCHED = [
    Pattern(rf"\b{languages.expression_of(language, 'SWITCHED')}\b", re.IGNORECASE) for language in languages.ALL
]
_AFTER = languages.pattern(r"(?P<new>.+?),? <INSTEAD> (?P<old>.+)")
_BEFORE = languages.pattern(r"<INSTEAD> (?P<old>\S+?(?: \S+?)??),? (?P<new>(?:\S+ )?<SELF>\b.+)")
_LAST_PART = Pattern(r"(?P<new>.+), (?P<old>(?:\S+ ){0,5}\S+)")
_CLAUSE = languages.pattern(r"\b(?:<SELF>|<VERB>|<FINITE_VERB>)\b")
_OPINION = languages.pattern(r"\b<SELF> (?:\S+ )?<OPINION>\b")


def parse_ending(statement: str) -> Ending | None:
    """What a sentence says is over; None when it says nothing of the kind, or not for sure."""
    if len(statement) > MAX_LENGTH or is_doubtful(statement):
        return None
    sentence = spans.without(" ".join(statement.split()).strip(" .!"), times=True)
    switched = filter(None, (pattern.search(sentence) for pattern in _SWITCHED))
    if replaced := _BEFORE.fullmatch(sentence) or _AFTER.fullmatch(sentence) or next(switched, None):
        return Ending(replaced["old"], replaced["new"])
    part = _LAST_PART.fullmatch(sentence)
    if part and _NO_LONGER.search(part["old"]) and not (_CLAUSE.search(part["old"]) or _NO_LONGER.search(part["new"])):
        return Ending(_without(_NEGATED, part["old"]), part["new"])  # "I parked on level 5, no longer on level 3"
    if _NO_LONGER.search(sentence):
        left = _without(_NEGATED, spans.without_future(sentence, statement))
        return None if _OPINION.search(left) else Ending(left)
    for pattern, of in ((_STOPPED, None), (_LEFT, DATED), (_SOLD, _OWNING)):
        if pattern.search(sentence):
            return Ending(_without(pattern, sentence), of=of)
    return None


def _without(pattern: Pattern, sentence: str, count: int = 0) -> str:
    return " ".join(pattern.sub(" ", sentence, count).split())


def is_doubtful(statement: str) -> bool:
    """Whether a sentence asks or supposes: then none of its clauses is sure."""
    return bool(_UNSURE.search(spans.without_future(statement, statement)))


def covers(ending: Ending, statement: str, triple: Triple, stems: dict[str, str]) -> bool:
    """Whether a fact says what is over. `stems`: the stem of each word, case folded."""
    over = terms.content_words(ending.over)
    if terms.is_negated(statement) or terms.STOP_WORDS.issuperset(over):
        return False
    known = terms.content_words(statement if ending.of is None else _AS_WHAT.sub("", triple.object))
    both = (*over, *terms.content_words(ending.instead))
    among = {word for word in both if any(_is_form(word, other, stems) for other in known)}
    if not among.issuperset(over):
        return False
    if ending.of is not None:
        return triple.predicate in ending.of and (ending.of is _OWNING or len(over) == len(known))
    return not ending.instead or not among <= {*over}


def _is_form(word: str, other: str, stems: dict[str, str]) -> bool:
    """Whether two words are forms of one: the same stem, or the same beginning up to two letters."""
    shorter = min(len(word), len(other))
    beginning = shorter - (2 if shorter > 6 else 1)
    same = stems.get(word, word) == stems.get(other, other)
    return same or (shorter > 4 and word[:beginning] == other[:beginning])
