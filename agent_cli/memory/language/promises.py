"""Recognizes replies that promise to remember or claim to have saved something, so that the claim can be checked.

By rules, in English and German. Questions, refusals and quotations do not count.
"""

import re

from agent_cli import text
from agent_cli.text import Pattern

_ENGLISH = (
    r"\bI(?:'ll| will|'m going to| am going to)(?: (?:now|also|certainly|definitely|always|gladly|surely|be sure to"
    r"|make sure to|try to))*"
    r" (?:remember|never forget|not forget|memori[sz]e|keep (?:that|this|it|your|these|those)\b.{0,60}?\bin (?:mind"
    r"|memory)|keep in mind|note|save|store|record|make a (?:mental )?note|take (?:a )?note|write (?:that|this|it) down"
    r"|add (?:that|this|it|your)\b)",
    r"\bI(?:'ve| have)?(?: (?:now|just|also|already|successfully))* (?:saved|stored|memori[sz]ed|recorded|remembered)"
    r" (?:that|this|it|your|these|the fact|the information|the note|a note|the date|as)\b",
    r"\bI(?:'ve| have)(?: (?:now|just|also|already|successfully))* (?:saved|stored|noted|memori[sz]ed|remembered)\W*$",
    r"\bI(?:'ve| have)(?: (?:now|just|also|already))* (?:noted (?:that|this|it|your|down|the)|made a (?:mental )?note"
    r"|taken (?:a )?note|written (?:that|this|it) down|added (?:that|this|it|your\b.{0,40}?) to (?:my|your))",
    r"\bI won't forget\b",
    r"\bI (?:made a note|noted (?:that|it|this) down)\b",
    r"^(?:(?:ok(?:ay)?|alright|got it|sure|great|thanks|perfect|understood)\W+)*(?:duly |it's |that's "
    r"|consider (?:it|that) )?(?:noted|saved|remembered|memori[sz]ed)\b(?! (?:that|by|in|as|earlier|above))",
    r"\b(?:has|have) (?:now |just )?been (?:saved|stored|noted|recorded|remembered|added to (?:my|your) memory)\b",
    r"\b(?:it|that|this)(?:'s| is) (?:now )?(?:saved|stored|noted|in my memory)\b",
)
_GERMAN = (
    r"\b(?:ich merke?|merke? ich)\b.{0,20}?\bmir\b",
    r"\b(?:ich (?:notiere|speichere|vermerke|behalte)|(?:notiere|speichere|vermerke|behalte) ich)\b.{0,20}?\b"
    r"(?:mir|das|es|dies|im (?:kopf|hinterkopf|gedächtnis))\b",
    r"\b(?:ich werde|werde ich|ich werd)\b.{0,80}?\b(?:merken|notieren|speichern|vermerken|nicht vergessen"
    r"|nie vergessen|(?:im|in) (?:hinterkopf|kopf|gedächtnis|erinnerung) behalten|daran denken)",
    r"\b(?:ich habe?|habe? ich|hab's)\b.{0,80}?\b(?:gespeichert|notiert|gemerkt|vermerkt|festgehalten"
    r"|aufgeschrieben)\b",
    r"^(?:(?:ok(?:ay)?|alles klar|gut|super|gerne?|danke|verstanden)\W+)*(?:ist |schon |hiermit )?"
    r"(?:notiert|gespeichert|gemerkt|vermerkt)\b",
    r"\b(?:wurden?|ist|sind)\b.{0,20}? (?:gespeichert|notiert|gemerkt|vermerkt)\b",
)
_WORDS = (  # every promise contains one of them
    *("remember", "forget", "memor", "mind", "note", "save", "stor", "record", "write", "written", "add"),
    *("merk", "notier", "speicher", "behalt", "vergess", "denken", "festgehalten", "aufgeschrieben"),
)
_PROMISE = Pattern("|".join((*_ENGLISH, *_GERMAN)), re.IGNORECASE | re.MULTILINE, _WORDS)
_NOT_FORGET = Pattern(r"\b(?:not|never|won't|nicht|nie) (?:forget|vergessen)\b", re.IGNORECASE)
_NOT_A_PROMISE = Pattern(
    r"\b(?:not|can't|cannot|couldn't|won't|don't|haven't|unable|never|if you|would you|should i|shall i|unless|nothing"
    r"|nicht|kein\w*|nichts|nie|wenn du|wenn sie|falls|möchtest du|soll ich|this (?:conversation|session|chat)"
    r"|dieses? (?:gespräch|sitzung|unterhaltung)|diesem? gespräch|dieser (?:sitzung|unterhaltung))\b",
    re.IGNORECASE,
)
_QUOTED = Pattern(
    r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"\n]*\"|“[^“”\n]*”|„[^„“”\n]*[“”]|^ {0,3}>[^\n]*", re.DOTALL | re.MULTILINE
)
_MAX_READ = 20_000  # characters of a reply


def is_promise(reply: str) -> bool:
    """Whether a reply promises to remember, or says that something was saved."""
    plain = _QUOTED.sub(" … ", reply[:_MAX_READ].replace("’", "'")).replace("*", "").replace("_", " ")
    return any(map(_is_promise_sentence, text.sentences(plain)))


def _is_promise_sentence(sentence: str) -> bool:
    if sentence.endswith("?") or not _PROMISE.search(sentence):
        return False
    return not _NOT_A_PROMISE.search(_NOT_FORGET.sub("", sentence))
