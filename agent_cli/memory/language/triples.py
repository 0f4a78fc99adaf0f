"""A plain statement taken apart by rules, in English and German: "I live in Graz" is (person, lives_in, Graz).

Careful rather than clever: two facts with the same triple count as one, so nothing but a date may be left out of a
sentence, and one that no rule takes in whole gives no triple. A "perhaps", a "not" or a second clause gives none.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from agent_cli.memory.language.claims import Triple
from agent_cli.text import Pattern

PERSON = "person"
_LONGEST = 200  # characters of a statement that is worth it
_WORDS = 6  # of an object, at most

_DOUBT = Pattern(
    r"\b(?:not|never|no longer|no more|nor|neither|cannot|without|if|unless|would|could|should|might|may be|maybe"
    r"|perhaps|probably|almost|used to|wants?|wish|hope|plans?|think|guess|pretend|imagine|suppose|going to"
    r"|will|formerly"
    r"|nicht|kein\w*|nie|niemals|nimmer|ohne|wenn|falls|würde\w*|könnte\w*|sollte\w*|möchte\w*|wollen|werde|vielleicht"
    r"|wahrscheinlich|wohl|früher|fast|glaube|hoffe)\b|n['’]t\b|\?", re.IGNORECASE,
)  # fmt: skip
_SECOND = Pattern(
    r"\b(?:and|or|but|because|so that|while|who|which|whose|where|when|und|oder|aber|weil|denn|sondern|während"
    r"|wo) (?:\w+ )*(?:is|are|was|ist|sind|war|works?|lives?|has|have|hat|habe|arbeite\w*|wohn\w*|leb\w*)\b"
    r"|(?<!\d)(?<!\bDr)(?<!\bSt)(?<!Prof)(?<!Mag)(?<!\b[A-Z])[.!?;] "
    r"|, (?:and|but|und|aber|because|weil|so|who|which|where|der|die|das|wo|dass)\b", re.IGNORECASE,
)  # fmt: skip
_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december|januar|jänner|februar"
    r"|feber|märz|mai|juni|juli|oktober|dezember)"
)
_DATE = (
    rf"(?:\d{{4}}-\d\d-\d\d|(?:the )?\d{{1,2}}(?:\.|st|nd|rd|th)?(?: of)? {_MONTH}(?:,? \d{{4}})?"
    rf"|{_MONTH}(?: \d{{1,2}}(?:st|nd|rd|th)?)?(?:,? \d{{4}})?|(?:19|20)\d\d)"
)
_THEN = (
    r"(?:(?:since|in|on|from|as of|by|seit(?: dem)?|im(?: Jahr)?|am|ab(?: dem)?|vom)"
    rf" (?:early |late |Anfang |Ende )?{_DATE}"
    rf"|(?:in the week of|in der Woche vom|on the (?:morning|evening) of|on the weekend of|am Wochenende vom) {_DATE}"
    r"|now|currently|again|nowadays|these days|at the moment|today|yesterday|recently|last (?:week|month|year)"
    r"|jetzt|nun|derzeit|zurzeit|momentan|inzwischen|mittlerweile|wieder|heute|gestern|neulich|seit kurzem"
    r"|letzte[ns]? (?:Woche|Monat|Jahr))"
)
_ARTICLE = Pattern(r"^(?:the|an?|der|die|das|den|dem|des|eine?|einen|einem|einer)\s+", re.IGNORECASE)
_ONE_OF = Pattern(r"(?:an?|ein(?:e[nmrs]?)?)\s", re.IGNORECASE)
_NONE_WORDS = """
    it this that these those them him her me you us so too how what there here something anything everything
    nothing es das dies ihn sie dich mich uns euch etwas alles so wie was hier dort dich
"""
_NONE = frozenset(_NONE_WORDS.split())

_ME = r"(?:I(?:['’]ve)?|the (?:person|user)|person|user|ich|die Person|der (?:Nutzer|Benutzer|Anwender))"
_AM = rf"(?:I['’]?m|{_ME} (?:am|is|bin|ist))"
_NOW = (
    r"(?: (?:now|currently|still|also|just|really|recently|have|has|jetzt|nun|derzeit|gerade|auch|immer noch"
    r"|gerne?|sehr))*"
)
_MY = r"(?:my|mein(?:e|en|em|er|es)?|(?:the )?(?:person|user)['’]s)"
_NAME = (  # with a capital, and no word that stands for somebody
    r"(?-i:(?!(?:I|He|She|It|We|You|They|This|That|These|There|What|Who|Everyone|Everybody|Nobody|Someone|Today"
    r"|Now|The|My|A"
    r"|An|In|On|Ich|Er|Sie|Es|Wir|Ihr|Du|Man|Das|Der|Die|Dies|Wer|Was|Jeder|Heute|Jetzt|Mein|Meine|Ein|Eine|Im|Am)\b)"
    r"(?:Dr\. |Mr\.? |Mrs\.? |Frau |Herr )?[A-ZÄÖÜÉ](?:[\w-]|['’](?!s\b))*"
    r"(?: (?:von|van|de|der|la|le|di|[A-ZÄÖÜÉ](?:[\w-]|['’](?!s\b))*\.?)){0,3})"
)
_KIN = (
    "wife", "husband", "spouse", "partner", "girlfriend", "boyfriend", "fiancé", "fiancée", "sister", "brother",
    "mother",
    "father", "mum", "mom", "dad", "son", "daughter", "uncle", "aunt", "cousin", "niece", "nephew", "grandmother",
    "grandfather", "grandma", "grandpa", "friend", "flatmate", "roommate", "neighbour", "neighbor", "boss", "manager",
    "colleague", "assistant", "landlord", "doctor", "dentist", "therapist", "lawyer", "teacher", "dog", "cat",
)  # fmt: skip
_GERMAN_KIN = {
    "frau": "wife", "mann": "husband", "ehefrau": "wife", "ehemann": "husband", "partner": "partner",
    "partnerin": "partner", "lebensgefährtin": "partner", "lebensgefährte": "partner", "freundin": "girlfriend",
    "schwester": "sister", "bruder": "brother", "mutter": "mother", "vater": "father", "sohn": "son",
    "tochter": "daughter", "onkel": "uncle", "tante": "aunt", "cousin": "cousin", "cousine": "cousin",
    "nichte": "niece", "neffe": "nephew", "oma": "grandmother", "opa": "grandfather", "nachbar": "neighbour",
    "nachbarin": "neighbour", "chef": "boss", "chefin": "boss", "kollege": "colleague", "kollegin": "colleague",
    "vermieter": "landlord", "vermieterin": "landlord", "hausarzt": "doctor", "hausärztin": "doctor",
    "arzt": "doctor", "ärztin": "doctor", "zahnarzt": "dentist", "zahnärztin": "dentist", "hund": "dog", "katze": "cat",
}  # fmt: skip
_SAME = {
    "colour": "color", "farbe": "color", "sprache": "language", "essen": "food", "getränk": "drink", "mum": "mother",
    "mom": "mother", "dad": "father", "neighbor": "neighbour", "e_mail": "email", "email_address": "email",
    "mail": "email", "mail_address": "email", "e_mail_address": "email", "e_mail_adresse": "email",
    "mailadresse": "email",
    "emailadresse": "email", "phone_number": "phone", "telephone_number": "phone", "mobile_number": "phone",
    "cell_number": "phone", "telefonnummer": "phone", "handynummer": "phone", "telefon": "phone", "number": "phone",
    "nummer": "phone", "geburtstag": "birthday", "alter": "age", "job": "works_as", "profession": "works_as",
    "occupation": "works_as", "beruf": "works_as", "employer": "works_at", "arbeitgeber": "works_at",
    "adresse": "address",
    "texteditor": "editor", "text_editor": "editor",
}  # fmt: skip
_PEOPLES = Pattern(
    r"(?:\w{3,}(?:ian|ish|ese)|German|American|Mexican|Swiss|French|Dutch|Greek|Czech|Thai|Catholic|Muslim|Jew|Vegan"
    r"|\w{4,}(?:in|er|eur|ist|ent|ant))$"
)


_Fits = Callable[[str, bool], bool]  # whether an object may be one; and whether all is in small letters


class _Rule(NamedTuple):
    pattern: re.Pattern[str]
    predicate: str  # empty: as it is told, in the group "what"
    fits: _Fits
    dated: bool = False  # whether a date at the end is no part of the object


def parse(statement: str) -> Triple | None:
    """Who, what, whom; None when no rule knows the sentence."""
    told = " ".join(statement.split()).strip(" .!")
    if not told or len(told) > _LONGEST or _DOUBT.search(told) or _SECOND.search(told):
        return None
    plain = _undated(told)
    for rule in _rules():
        match = rule.pattern.fullmatch(plain if rule.dated else told)
        if match and (found := _triple(rule, match, told)):
            return found
    return None


def _undated(told: str) -> str:
    """Without when it began to be so, at its beginning and its end."""
    while True:
        cut = re.sub(rf",? {_THEN}$", "", told, flags=re.IGNORECASE)
        cut = re.sub(rf"^{_THEN},? (?=\S+ \S)", "", cut, flags=re.IGNORECASE)
        if cut == told:
            return cut
        told = cut


def _triple(rule: _Rule, match: re.Match[str], told: str) -> Triple | None:
    parts = match.groupdict()
    said = parts["object"].strip(" ,\"'“”„`")
    object = _ARTICLE.sub("", said, count=1)
    if not object or len(object.split()) > _WORDS or object.casefold() in _NONE:
        return None
    if rule.fits is _place and _ONE_OF.match(said):
        return None  # "in a flat", "for a bank": no name
    what = _slug(parts["what"]) if "what" in parts else ""
    if not rule.fits(object, told == told.lower()) or not rule.predicate + what:
        return None
    subject = parts.get("subject")
    return Triple(_ARTICLE.sub("", subject, count=1) if subject else PERSON, rule.predicate + what, object)


def _slug(told: str) -> str:
    """What the person calls it, as a predicate."""
    slug = _GERMAN_KIN.get(told.casefold().strip()) or re.sub(
        r"\W+", "_", unicodedata.normalize("NFC", told.casefold())
    ).strip("_")
    return _SAME.get(slug, slug)


def _any(object: str, small: bool) -> bool:
    return not re.match(r"(?:to|that|how|when|dass|zu|being|doing)\b", object, re.IGNORECASE)


def _proper(object: str, small: bool) -> bool:
    """A name: with a capital, unless the person writes none."""
    return (object[0].isupper() or object[0].isdigit() or (small and len(object.split()) <= 2)) and not re.search(
        r"\b(?:and|or|und|oder|with|mit)\b", object
    )


_GENERIC_WORDS = """
    home school university night day work peace fear sin hiding hope stadt nähe haus wohnung dorf mitte land
    zentrum city town country suburbs village house flat apartment middle area north south east west past future
    present bank company firma schule hospital krankenhaus myself mir mich arbeit hause
"""
_GENERIC = frozenset(_GENERIC_WORDS.split())


def _place(object: str, small: bool) -> bool:
    first = object.split()[0].casefold()
    return _proper(object, small) and first not in _GENERIC and not re.match(r"\d{1,4}$", object)


def _person(object: str, small: bool) -> bool:
    return (
        _proper(object, False) and len(object.split()) <= 3 and not _PEOPLES.search(object.split()[0])
        and all(word[0].isupper() or word in ("von", "van", "de", "der") for word in object.split())
    )  # fmt: skip


def _called(object: str, small: bool) -> bool:
    """After "is called", whatever it ends in."""
    return _proper(object, False) and len(object.split()) <= 4


def _job(object: str, small: bool) -> bool:
    return (
        not re.search(r"\b(?:at|for|in|bei|für|and|und|or|oder|well|much|hard)\b", object) and len(object.split()) <= 4
    )


def _thing(object: str, small: bool) -> bool:
    """A name, a number, or one word for a tool or a color."""
    one = re.fullmatch(r"[\w@.+#/-]+", object)
    return bool((_proper(object, False) or one) and not re.search(r"(?:ing|ed)$", object.split()[0]))


def _counted(object: str, small: bool) -> bool:
    return 0 < int(object) < 130


def _day(object: str, small: bool) -> bool:
    return bool(re.search(r"\d|" + _MONTH, object, re.IGNORECASE)) and len(object.split()) <= 5


def _year(object: str, small: bool) -> bool:
    return object.isdigit() and 1900 <= int(object) < 2100


def _mail(object: str, small: bool) -> bool:
    return bool(re.fullmatch(r"[^\s@]+@[^\s@]+\.\w{2,}", object))


def _phone(object: str, small: bool) -> bool:
    return bool(re.fullmatch(r"\+?[\d(][\d ()/.-]{4,22}", object))


def _address(object: str, small: bool) -> bool:
    return bool(re.search(r"[\d.:/]", object)) and " " not in object


def _liked(object: str, small: bool) -> bool:
    return _any(object, small) and object.split()[0].casefold() not in _NONE and "," not in object


def _had(object: str, small: bool) -> bool:
    return not re.search(
        r"\b(?:meeting|appointment|question|problem|idea|feeling|look|call|date|termin|frage|idee|problem|bit"
        r"|lot|moment"
        r"|headache|cold|exam|flight|minute|hour|day)\b", object, re.IGNORECASE,
    )  # fmt: skip


@cache
def _rules() -> list[_Rule]:
    """Compiled when first needed, in the order in which they are tried."""
    kin = "|".join([*_KIN, *_GERMAN_KIN])
    who = rf"(?:{_ME}|(?P<subject>{_NAME}))"
    who_is = rf"(?:{_AM}|(?P<subject>{_NAME}) (?:is|ist))"
    at, things = r"(?:bei(?: der| dem)?|beim|für)", "|".join(_THINGS)
    object = r"(?P<object>.+)"
    answers = r"(?:answers at|is reachable at|listens on|antwortet (?:auf|unter)|ist erreichbar unter)"
    dated: list[tuple[str, _Fits, tuple[str, ...]]] = [
        ("lives_in", _place, (
            rf"(?:{who}|we){_NOW} (?:lives? in|moved(?: from [^,]+?)? to|resides? in|relocated to) {object}",
            rf"(?:{who}|wir){_NOW} (?:wohn(?:e|t|en)|leb(?:e|t|en)){_NOW} in {object}",
            rf"{who_is}{_NOW} living in {object}", rf"(?:wohne|lebe) ich{_NOW} in {object}",
            rf"(?:ich bin|bin ich|wir sind|(?P<subject>{_NAME}) ist){_NOW}(?: {_THEN})?(?: von [^,]+?)? nach {object}"
            r" (?:gezogen|umgezogen|übersiedelt)",
        )),
        ("works_at", _place, (
            rf"{who}{_NOW} (?:works?|start(?:ed|s)?(?: working| to work| a (?:new )?job)?)(?: now)? (?:at|for)"
            rf" {object}",
            rf"{who_is}{_NOW} (?:working|employed) (?:at|for|by|bei) {object}",
            rf"{who} arbeite[nt]?{_NOW} {at} {object}", rf"arbeite ich{_NOW} {at} {object}",
            rf"ich habe{_NOW}(?: {_THEN})? {at} {object} (?:angefangen|begonnen)",
        )),
        ("works_as", _job, (
            rf"{who} (?:works?|arbeite[nt]?){_NOW} (?:as|als) {object}", rf"{who_is}{_NOW} von Beruf {object}",
            rf"{_AM}{_NOW} {object} by (?:profession|trade)",
        )),
        ("age", _counted, (
            rf"{who_is}{_NOW} (?P<object>\d{{1,3}})(?: years? old| years? of age| Jahre alt)?",
        )),
        ("married_to", _called, (
            rf"{who_is}{_NOW} married to {object}", rf"{who_is}{_NOW}(?: {_THEN})? mit {object} verheiratet",
        )),
        ("studies_at", _place, (rf"{who}{_NOW} (?:studies|study) at {object}",)),
        ("answers_at", _address, (
            rf"(?P<subject>{_NAME}|(?:the |der |die |das )[\w-]+(?: [\w-]+)?){_NOW} {answers} {object}",
        )),
    ]  # fmt: skip
    whole: list[tuple[str, _Fits, tuple[str, ...]]] = [
        ("name", _called, (
            rf"(?:{_MY} name(?: is|['’]s| ist)|ich heiße|call me|nenn(?:e|t)? mich|{_AM} (?:called|named)) {object}",
        )),
        ("email", _mail, (
            rf"(?:you can reach me at|{_MY} e-?mail(?:[ -]?address|-?adresse)?(?: is| ist| lautet|:)?|e-?mail:)"
            rf" {object}",
        )),
        ("phone", _phone, (
            rf"{_MY} (?:(?:tele)?phone|mobile|cell|telefon|handy)?[ -]?(?:number|nummer)?(?: is| ist| lautet"
            rf"|:)? {object}",
            rf"you can call me (?:at|on) {object}",
        )),
        ("birthday", _day, (rf"{_MY} (?:birthday|Geburtstag) (?:is|ist)(?: on| am)? {object}",)),
        ("born_on", _day, (
            rf"(?:I was|(?P<subject>{_NAME}) was) born on {object}",
            rf"(?:ich bin|ich wurde|(?P<subject>{_NAME}) (?:ist|wurde)) am {object} geboren",
        )),
        ("born_on", _year, (rf"(?:I was|(?P<subject>{_NAME}) was) born in {object}",)),
        ("born_in", _place, (
            rf"(?:I was|(?P<subject>{_NAME}) was) born in {object}",
            rf"(?:ich bin|ich wurde|(?P<subject>{_NAME}) (?:ist|wurde)) in {object} geboren",
        )),
        ("comes_from", _place, (rf"(?:{_AM} from|I come from|ich komme aus|ich bin aus) {object}",)),
        ("", _called, (
            rf"{_MY} (?P<what>{kin}) (?:is (?:called|named)|heißt) {object}", rf"{_MY} (?P<what>{kin})['’]s"
            rf" name is {object}",
            rf"(?P<object>{_NAME}) (?:is|ist) {_MY} (?P<what>{kin})",
        )),
        ("", _person, (rf"{_MY} (?P<what>{kin}) (?:is|ist) {object}",)),
        ("prefers.", _any, (
            rf"{_ME}{_NOW} prefers? (?:to use )?(?P<object>.+?) as (?:my|the|an?|his|her|their) (?P<what>[\w"
            rf" -]{{2,30}})",
            rf"{_MY} (?:favou?rite|preferred|lieblings-?|bevorzugte[rs]?) ?(?P<what>[\w -]{{2,30}}?) (?:is|are"
            rf"|ist|sind) {object}",
        )),
        ("allergic_to", _any, (
            rf"{who_is} (?:allergic to|allergisch (?:gegen|auf)) {object}",
            rf"(?:ich habe|(?P<subject>{_NAME}) hat) eine Allergie gegen {object}",
        )),
        ("likes", _liked, (
            rf"{who}{_NOW} (?:likes?|loves?|enjoys?|adores?|mag|liebe|liebt)(?: sehr(?: gerne?)?)? {object}",
        )),
        ("dislikes", _liked, (rf"{who}{_NOW} (?:hates?|dislikes?|detests?|hasse|hasst) {object}",)),
        ("owns", _liked, (rf"{who}{_NOW} (?:owns?|besitze|besitzt) {object}",)),
        ("drives", _liked, (rf"{who}{_NOW} (?:drives? an?|fahre eine?n?|fährt eine?n?) {object}",)),
        ("speaks", _any, (rf"{who}{_NOW} (?:speaks?|spreche|spricht) (?P<object>(?-i:[A-ZÄÖÜ])\w+)",)),
        ("has", _had, (
            rf"{who}{_NOW} (?:have|has|habe|hat)"
            r" (?P<object>(?:an?|one|two|three|four|five|eine?n?|zwei|drei|vier|fünf|\d+) .+)",
        )),
        ("prefers", _liked, (rf"{_ME}{_NOW} prefers? {object}",)),
        ("", _thing, (
            rf"(?P<subject>{_NAME})['’]s (?P<what>birthday|age|email|phone|address|{kin}) is {object}",
            rf"{_MY} (?P<what>{things})(?: is| ist| lautet|:) {object}",
        )),
        ("", _named, (
            rf"{_MY} (?P<what>(?!(?:{kin}|name|favou?rite)\b)[\w-]+(?: [\w-]+){{0,2}}?)(?: is| ist| lautet|:) {object}",
        )),
    ]  # fmt: skip
    return [
        _Rule(re.compile(pattern, re.IGNORECASE), predicate, fits, some is dated)
        for some in (dated, whole) for predicate, fits, patterns in some for pattern in patterns
    ]  # fmt: skip


_THINGS = (
    "editor", "shell", "browser", "terminal", "font", "theme", "diet", "language", "native language", "time ?zone",
    "currency", "blood type", "blutgruppe", "shoe size", "schuhgröße", "hair color", "eye color", "os",
    "operating system",
    "keyboard layout", "timezone", "zeitzone", "muttersprache", "username", "handle", "wi-?fi", "router", "height",
    "größe",
)  # fmt: skip


def _named(object: str, small: bool) -> bool:
    """A name, or something with digits: what a thing of mine may be; its state, as in "is broken", is none."""
    return bool(_proper(object, False) or re.search(r"\d|@", object))
