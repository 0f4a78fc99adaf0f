"""Parses plain statements into triples by rules, in English and German: "I live in Graz" is (person, lives_in, Graz).

Two facts with the same triple count as one fact, so a rule must match the whole sentence except for a date. A sentence
with a doubt ("perhaps"), a negation or a second clause gives no triple, nor does a plan without a date.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from agent_cli.memory.language import date_phrases, languages, triple_objects
from agent_cli.memory.language.claims import Triple
from agent_cli.text import Pattern

PERSON = "person"
DATED = frozenset(["lives_in", "works_at", "works_as", "age", "married_to", "studies_at", "answers_at"])
"""Predicates of the rules that drop a date: it says from when the statement is true."""

_MAX_LENGTH = 200  # characters of a statement
_MAX_OBJECT_WORDS = 6

_DOUBT = Pattern(
    rf"\b(?:{languages.alternatives('NEGATION')}|{languages.alternatives('DOUBT')})\b|n['’]t\b|\?", re.IGNORECASE
)
_SECOND_CLAUSE = Pattern(
    r"\b(?:and|or|but|because|so that|while|who|which|whose|where|when|und|oder|aber|weil|denn|sondern|während"
    r"|wo) (?:\w+ )*(?:is|are|was|ist|sind|war|works?|lives?|has|have|hat|habe|arbeite\w*|wohn\w*|leb\w*)\b"
    r"|(?<!\d)(?<!\bDr)(?<!\bSt)(?<!Prof)(?<!Mag)(?<!\b[A-Z])[.!?;] "
    r"|, (?:and|but|und|aber|because|weil|so|who|which|where|der|die|das|wo|dass)\b",
    re.IGNORECASE,
)
_ARTICLE = Pattern(r"^(?:the|an?|der|die|das|den|dem|des|eine?|einen|einem|einer)\s+", re.IGNORECASE)
_INDEFINITE = Pattern(r"(?:an?|ein(?:e[nmrs]?)?)\s", re.IGNORECASE)

_ME = r"(?:I(?:['’]ve)?|the (?:person|user)|person|user|ich|die Person|der (?:Nutzer|Benutzer|Anwender))"
_AM = rf"(?:I['’]?m|{_ME} (?:am|is|bin|ist))"
_NOW = (
    r"(?: (?:now|currently|still|also|just|really|recently|have|has|jetzt|nun|derzeit|gerade|auch|immer noch"
    r"|gerne?|sehr))*"
)
_WHEN = rf"(?: {date_phrases.TIME_WORDS})?"  # in rules that are matched without the dates of a sentence
_MY = r"(?:my|mein(?:e|en|em|er|es)?|(?:the )?(?:person|user)['’]s)"
_NAME = (  # capitalized, and not a pronoun
    r"(?-i:(?!(?:I|He|She|It|We|You|They|This|That|These|There|What|Who|Everyone|Everybody|Nobody|Someone|Today"
    r"|Now|The|My|A"
    r"|An|In|On|Ich|Er|Sie|Es|Wir|Ihr|Du|Man|Das|Der|Die|Dies|Wer|Was|Jeder|Heute|Jetzt|Mein|Meine|Ein|Eine|Im|Am)\b)"
    r"(?:Dr\. |Mr\.? |Mrs\.? |Frau |Herr )?[A-ZÄÖÜÉ](?:[\w-]|['’](?!s\b))*"
    r"(?: (?:von|van|de|der|la|le|di|[A-ZÄÖÜÉ](?:[\w-]|['’](?!s\b))*\.?)){0,3})"
)


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split(":") for pair in text.split())


_KIN = {
    word: predicate or word
    for language in languages.ALL
    for word, _, predicate in (each.partition(":") for each in language.KIN.split())
}
"""How relations to the person are said, and their predicates."""
_SYNONYMS = _pairs(
    """
    colour:color farbe:color sprache:language essen:food getränk:drink mum:mother mom:mother dad:father
    neighbor:neighbour e_mail:email email_address:email mail:email mail_address:email e_mail_address:email
    e_mail_adresse:email mailadresse:email emailadresse:email phone_number:phone telephone_number:phone
    mobile_number:phone cell_number:phone telefonnummer:phone handynummer:phone telefon:phone number:phone
    nummer:phone geburtstag:birthday alter:age job:works_as profession:works_as occupation:works_as
    beruf:works_as employer:works_at arbeitgeber:works_at adresse:address texteditor:editor text_editor:editor
    """
)
_THINGS = (
    r"editor|shell|browser|terminal|font|theme|diet|language|native language|time ?zone|currency|blood type"
    r"|blutgruppe|shoe size|schuhgröße|hair color|eye color|os|operating system|keyboard layout|timezone"
    r"|zeitzone|muttersprache|username|handle|wi-?fi|router|height|größe"
)


_ObjectTest = Callable[[str, bool], bool]  # (object, whether the statement is in lower case)
_Rules = list[tuple[str, str, _ObjectTest, tuple[str, ...]]]
"""Predicate; words, in lower case, of which a match has one; what the object must be; patterns."""


class _SentenceRule(NamedTuple):
    opening: Pattern  # how a sentence begins that it may match: tried first, because the pattern takes a millisecond
    pattern: Pattern
    predicate: str  # followed by the group "what", if any
    fits: _ObjectTest
    dated: bool = False  # whether "in June" is dropped too: elsewhere it may be the object
    only_dated: bool = False  # whether the sentence must have a date: "I'm moving to Linz"


def parse(statement: str) -> Triple | None:
    """Subject, predicate and object; None when no rule matches."""
    sentence = " ".join(statement.split()).strip(" .!")
    if not sentence or len(sentence) > _MAX_LENGTH or _SECOND_CLAUSE.search(sentence):
        return None
    certain = date_phrases.without_future(sentence, sentence)
    if _DOUBT.search(certain):
        return None
    has_date = bool(date_phrases.PHRASE.search(sentence))
    timeless = date_phrases.without(certain, times=True)
    plain = date_phrases.without(certain, times=False)
    for rule in _rules():
        words = timeless if rule.dated else plain
        if (rule.only_dated and not has_date) or not rule.opening.match(words):
            continue
        match = rule.pattern.fullmatch(words)
        if match and (found := _triple(rule, match, sentence)):
            return found
    return None


def _triple(rule: _SentenceRule, match: re.Match[str], sentence: str) -> Triple | None:
    parts = match.groupdict()
    words = parts["object"].strip(" ,\"'“”„`")
    object = _ARTICLE.sub("", words, count=1)
    if not object or len(object.split()) > _MAX_OBJECT_WORDS or object.casefold() in triple_objects.PRONOUNS:
        return None
    if rule.fits is triple_objects.is_place and _INDEFINITE.match(words):
        return None  # "in a flat", "for a bank": not a name
    what = predicate(parts["what"]) if "what" in parts else ""
    if not rule.fits(object, sentence == sentence.lower()) or not rule.predicate + what:
        return None
    subject = parts.get("subject")
    return Triple(_ARTICLE.sub("", subject, count=1) if subject else PERSON, rule.predicate + what, object)


def predicate(words: str) -> str:
    """The person's words for a relation as a predicate."""
    slug = _KIN.get(words.casefold().strip()) or re.sub(
        r"\W+", "_", unicodedata.normalize("NFC", words.casefold())
    ).strip("_")
    return _SYNONYMS.get(slug, slug)


@cache
def _rules() -> list[_SentenceRule]:
    """In the order in which they are tried; each is compiled when it is."""
    kin, digit = "|".join(_KIN), "0|1|2|3|4|5|6|7|8|9"
    who = rf"(?:{_ME}|(?P<subject>{_NAME}))"
    who_is = rf"(?:{_AM}|(?P<subject>{_NAME}) (?:is|ist))"
    at, things = r"(?:bei(?: der| dem)?|beim|für)", _THINGS
    object, goal = r"(?P<object>.+)", r"(?P<object>.+?)"
    moving = r"(?: from [^,]+?| von [^,]+?)?"
    answers = r"(?:answers at|is reachable at|listens on|antwortet (?:auf|unter)|ist erreichbar unter)"
    dated: _Rules = [
        (
            "lives_in",
            "live|living|moved|reside|relocated|wohn|leb|gezogen|übersiedelt",
            triple_objects.is_place,
            (
                rf"(?:{who}|we){_NOW} (?:lives? in|moved(?: from [^,]+?)? to|resides? in|relocated to) {object}",
                rf"(?:{who}|wir){_NOW} (?:wohn(?:e|t|en)|leb(?:e|t|en)){_NOW} in {object}",
                rf"{who_is}{_NOW} living in {object}",
                rf"(?:wohne|lebe) ich{_NOW} in {object}",
                rf"(?:ich bin|bin ich|wir sind|(?P<subject>{_NAME}) ist){_NOW}{_WHEN}(?: von [^,]+?)?"
                rf" nach {object} (?:gezogen|umgezogen|übersiedelt)",
            ),
        ),
        (
            "works_at",
            "work|start|employed|arbeit|angefangen|begonnen",
            triple_objects.is_place,
            (
                rf"{who}{_NOW} (?:works?|start(?:ed|s)?(?: working| to work| a (?:new )?job)?)(?: now)? (?:at|for)"
                rf" {object}",
                rf"{who_is}{_NOW} (?:working|employed) (?:at|for|by|bei) {object}",
                rf"{who} arbeite[nt]?{_NOW} {at} {object}",
                rf"arbeite ich{_NOW} {at} {object}",
                rf"ich habe{_NOW}{_WHEN} {at} {object} (?:angefangen|begonnen)",
            ),
        ),
        (
            "works_as",
            "work|arbeit|beruf|profession|trade",
            triple_objects.is_job,
            (
                rf"{who} (?:works?|arbeite[nt]?){_NOW} (?:as|als) {object}",
                rf"{who_is}{_NOW} von Beruf {object}",
                rf"{_AM}{_NOW} {object} by (?:profession|trade)",
            ),
        ),
        (
            "age",
            digit,
            triple_objects.is_age,
            (rf"{who_is}{_NOW} (?P<object>\d{{1,3}})(?: years? old| years? of age| Jahre alt)?",),
        ),
        (
            "married_to",
            "married|verheiratet",
            triple_objects.is_given_name,
            (
                rf"{who_is}{_NOW} married to {object}",
                rf"{who_is}{_NOW}{_WHEN} mit {object} verheiratet",
            ),
        ),
        ("studies_at", "stud", triple_objects.is_place, (rf"{who}{_NOW} (?:studies|study) at {object}",)),
        (
            "answers_at",
            "answers|reachable|listens|antwortet|erreichbar",
            triple_objects.is_network_address,
            (rf"(?P<subject>{_NAME}|(?:the |der |die |das )[\w-]+(?: [\w-]+)?){_NOW} {answers} {object}",),
        ),
    ]
    planned: _Rules = [
        (
            "lives_in",
            "mov|lived|zieh|übersied|wohn|leb",
            triple_objects.is_place,
            (
                rf"(?:{who_is}|we(?: a|['’])re){_NOW} moving{moving} to {object}",
                rf"(?:{who}|we){_NOW} (?:moves?{moving} to|lived in) {object}",
                rf"(?:{who}|wir) (?:ziehen?|zieht|übersied\w+){moving} nach {goal}(?: um)?",
                rf"(?:ziehen?|übersied\w+) (?:ich|wir){moving} nach {goal}(?: um)?",
                rf"(?:{who}|wir) in {object} (?:wohnen|leben)",
                rf"(?:{who}|wir){moving} nach {goal} (?:um)?(?:ziehen|übersiedeln)",
            ),
        ),
        (
            "works_at",
            "start|join|work|fang|fäng|beginn|arbeit",
            triple_objects.is_place,
            (
                rf"{who_is}{_NOW} (?:starting(?: to work)?(?: at| for)|joining) {object}",
                rf"{who}{_NOW} (?:join(?:s|ed)?|worked (?:at|for)) {object}",
                rf"{who} (?:fange|fängt|beginne|beginnt|starte|startet) {at} {goal}(?: an)?",
                rf"(?:fange|beginne|starte) ich {at} {goal}(?: an)?",
                rf"{who} {at} {object} (?:arbeiten|anfangen|beginnen)",
            ),
        ),
    ]
    undated: _Rules = [
        (
            "name",
            "name|heiße|call|nenn",
            triple_objects.is_given_name,
            (rf"(?:{_MY} name(?: is|['’]s| ist)|ich heiße|call me|nenn(?:e|t)? mich|{_AM} (?:called|named)) {object}",),
        ),
        (
            "email",
            "mail|reach",
            triple_objects.is_mail_address,
            (
                rf"(?:you can reach me at|{_MY} e-?mail(?:[ -]?address|-?adresse)?(?: is| ist| lautet|:)?|e-?mail:)"
                rf" {object}",
            ),
        ),
        (
            "phone",
            digit,
            triple_objects.is_phone_number,
            (
                rf"{_MY} (?:(?:tele)?phone|mobile|cell|telefon|handy)?[ -]?(?:number|nummer)?(?: is| ist| lautet"
                rf"|:)? {object}",
                rf"you can call me (?:at|on) {object}",
            ),
        ),
        (
            "birthday",
            "birthday|geburtstag",
            triple_objects.is_day,
            (rf"{_MY} (?:birthday|Geburtstag) (?:is|ist)(?: on| am)? {object}",),
        ),
        (
            "born_on",
            "born|geboren",
            triple_objects.is_day,
            (
                rf"(?:I was|(?P<subject>{_NAME}) was) born on {object}",
                rf"(?:ich bin|ich wurde|(?P<subject>{_NAME}) (?:ist|wurde)) am {object} geboren",
            ),
        ),
        ("born_on", "born", triple_objects.is_year, (rf"(?:I was|(?P<subject>{_NAME}) was) born in {object}",)),
        (
            "born_in",
            "born|geboren",
            triple_objects.is_place,
            (
                rf"(?:I was|(?P<subject>{_NAME}) was) born in {object}",
                rf"(?:ich bin|ich wurde|(?P<subject>{_NAME}) (?:ist|wurde)) in {object} geboren",
            ),
        ),
        (
            "comes_from",
            "from|aus",
            triple_objects.is_place,
            (rf"(?:{_AM} from|I come from|ich komme aus|ich bin aus) {object}",),
        ),
        (
            "",
            kin,
            triple_objects.is_given_name,
            (
                rf"{_MY} (?P<what>{kin}) (?:is (?:called|named)|heißt) {object}",
                rf"{_MY} (?P<what>{kin})['’]s"
                rf" name is {object}",
                rf"(?P<object>{_NAME}) (?:is|ist) {_MY} (?P<what>{kin})",
            ),
        ),
        ("", kin, triple_objects.is_person, (rf"{_MY} (?P<what>{kin}) (?:is|ist){_NOW} {object}",)),
        (
            "prefers.",
            "prefer|use|switched|nutze|verwende|nehme|favo|liebling|bevorzugte",
            triple_objects.is_any,
            (
                rf"{_ME}{_NOW} prefers? (?:to use )?(?P<object>.+?) as (?:my|the|an?|his|her|their) (?P<what>[\w"
                rf" -]{{2,30}})",
                rf"{_ME}{_NOW} (?:uses?|switched to) {object} as (?:my|his|her|their) (?:main |default |standard )?"
                rf"(?P<what>[\w -]{{2,30}})",
                rf"(?:{_ME} |(?=\w+ ich ))(?:be)?(?:nutze|verwende|nehme)(?: ich)?{_NOW} {object}"
                rf" als (?:meinen? )?(?P<what>[\w-]{{2,30}})",
                rf"{_MY} (?:favou?rite|preferred|lieblings-?|bevorzugte[rs]?) ?(?P<what>[\w -]{{2,30}}?) (?:is|are"
                rf"|ist|sind) {object}",
            ),
        ),
        (
            "allergic_to",
            "allerg",
            triple_objects.is_any,
            (
                rf"{who_is} (?:allergic to|allergisch (?:gegen|auf)) {object}",
                rf"(?:ich habe|(?P<subject>{_NAME}) hat) eine Allergie gegen {object}",
            ),
        ),
        (
            "likes",
            "like|love|enjoy|adore|mag|lieb",
            triple_objects.is_likeable,
            (rf"{who}{_NOW} (?:likes?|loves?|enjoys?|adores?|mag|liebe|liebt)(?: sehr(?: gerne?)?)? {object}",),
        ),
        (
            "dislikes",
            "hate|dislike|detest|hass",
            triple_objects.is_likeable,
            (rf"{who}{_NOW} (?:hates?|dislikes?|detests?|hasse|hasst) {object}",),
        ),
        ("owns", "own|besitz", triple_objects.is_likeable, (rf"{who}{_NOW} (?:owns?|besitze|besitzt) {object}",)),
        (
            "drives",
            "drive|fahr|fähr",
            triple_objects.is_likeable,
            (rf"{who}{_NOW} (?:drives? an?|(?:fahre|fährt){_NOW} eine?n?) {object}",),
        ),
        (
            "speaks",
            "speak|sprech|sprich",
            triple_objects.is_any,
            (rf"{who}{_NOW} (?:speaks?|spreche|spricht) (?P<object>(?-i:[A-ZÄÖÜ])\w+)",),
        ),
        (
            "has",
            "have|has|habe|hat",
            triple_objects.is_possession,
            (
                rf"{who}{_NOW} (?:have|has|habe|hat)"
                r" (?P<object>(?:an?|one|two|three|four|five|eine?n?|zwei|drei|vier|fünf|\d+) .+)",
            ),
        ),
        ("prefers", "prefer", triple_objects.is_likeable, (rf"{_ME}{_NOW} prefers? {object}",)),
        (
            "",
            " is| lautet|:",
            triple_objects.is_tool,
            (
                rf"(?P<subject>{_NAME})['’]s (?P<what>birthday|age|email|phone|address|{kin}) is {object}",
                rf"{_MY} (?P<what>{things})(?: is| ist| lautet|:) {object}",
            ),
        ),
        (
            "",
            " is| lautet|:",
            triple_objects.is_value,
            (
                rf"{_MY} (?P<what>(?!(?:{kin}|name|favou?rite)\b)[\w-]+(?: [\w-]+){{0,2}}?)"
                rf"(?: is| ist| lautet|:) {object}",
            ),
        ),
    ]
    begins = {_MY: Pattern(_MY, re.IGNORECASE), "": Pattern("")}
    begins |= dict.fromkeys((who, f"(?:{who}|", who_is), Pattern(rf"{_ME}|{_AM}|{_NAME}|we|wir", re.IGNORECASE))
    openings = sorted(begins, key=len, reverse=True)
    return [
        _SentenceRule(
            begins[next(filter(pattern.startswith, openings))],
            Pattern(pattern, re.IGNORECASE, words.split("|")),
            predicate,
            fits,
            some is not undated,
            some is planned,
        )
        for some in (dated, planned, undated)
        for predicate, words, fits, patterns in some
        for pattern in patterns
    ]
