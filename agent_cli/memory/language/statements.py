"""What words are: a statement, a question, small talk, a reply without an answer or with a promise to remember; what
they are about; and a clause after "that" as a sentence of its own.

A message that is searched tells nothing only if all of it is a question, small talk or an empty reply: "Anna is
allergic to nuts, what can I cook?" tells something beside its question.
"""

import re
from collections.abc import Collection, Iterable, Sequence, Set

from agent_cli import text
from agent_cli.memory.language import languages, terms
from agent_cli.text import Pattern

_ENDS_AS_QUESTION = Pattern(r"\?[^\w?]*$")
_SENTENCE = Pattern(r"(?<=[.!?…。！？])\s*")
_WORD, _SMALL_TALK = Pattern(r"\w+"), languages.pattern("<SMALL_TALK>")
_TWO_WORDS = Pattern(r"\w\W+\w")
_LONGEST_SMALL_TALK = 100  # characters
_STEM = 3  # letters by which words of small talk are told from others
_SMALL_TALK_STEMS = {stem[:_STEM] for stem in re.findall(r"[^\W\d_]+", languages.alternatives("SMALL_TALK"))}
_MAX_QUESTION_WORDS = 20  # a longer question mostly tells something too
_LONGEST_QUESTION = 200  # characters
_MAX_EMPTY_REPLY = 400  # characters
_LONGEST_CLAUSE = 600  # characters of one that is rewritten

_STATEMENT, _ABOUT_PEOPLE, _EVERYDAY = (
    languages.pattern(f"<{name}>") for name in ("STATEMENT_CLAUSE", "ABOUT_PEOPLE", "EVERYDAY")
)
_SEEKING, _NEEDING, _LATER_QUESTION = (
    languages.pattern(rf"\W*<{name}>\b") for name in ("SEEKING", "NEEDING", "LATER_QUESTION")
)
_SAYING, _NOT_OF_THE_PAST, _TIME, _IGNORANCE, _HOWEVER, _NOT_FORGET, _NO_PROMISE = (
    languages.pattern(rf"\b<{name}>\b")
    for name in ["SAYING", "NOT_OF_THE_PAST", "TIME_WORDS", "IGNORANCE", "HOWEVER", "NOT_FORGET", "NO_PROMISE"]
)
_ASKS_FOR_TIME = languages.pattern(r"\b(?:<ASKS_FOR_TIME>|<SAYING>)\b")
_OPENING = languages.pattern(r"\W*+\b(?:<QUESTION_OPENING>|<VERB_FIRST>)\b")
_CLAUSE = Pattern(r"(?<=[,;:–—])\s+")
_QUESTION_END = languages.pattern(r"(?<!\w)<QUESTION_END>\W*$")
_INVERTED = languages.pattern(r"\b(?:<QUESTION_END>|<INVERSION>)\b|\?")
_KEYWORDS = Pattern(r"\W*+(?:[a-zà-ɏ'’]+[ \t-]+){0,6}[a-zà-ɏ]+\W*", re.IGNORECASE)
_VERB = languages.pattern(r"\b(?:<VERB>|<OWN_STATEMENT>|<FINITE_VERB>)\b")
_OFFER = languages.pattern(r"\W*\b<OFFER>\b")
_APOLOGY = languages.pattern(r"^\W*\b<APOLOGY>\b\W*(?:\b<HOWEVER>\b)?")
_RECALLING, _NEW_WANTED = languages.pattern(r"\b<RECALLING>"), languages.pattern(r"(?:\b|\A)<NEW_WANTED>")
_INTRODUCTION = languages.pattern(r"\A\W*+(?>(?:<PLEASE>|<REMEMBER>(?:,?\s+<THAT>)?)\b[,!:]?\s+)+(?=<OWN_CLAUSE>)")
_NAMED_CLAUSE = r"(?-i:[A-ZÄÖÜ])[\w.-]+(?: (?-i:[A-ZÄÖÜ])[\w.-]+)? <VERB>"
_CLAUSE_START = languages.pattern(
    rf"(?<!\s)(?:\s*+[,;–—]\s++(?:<CLAUSE_OPENING>\s++)?(?=<OWN_CLAUSE>|{_NAMED_CLAUSE})"
    r"|\s++<CLAUSE_OPENING>\s++(?=<OWN_CLAUSE>))"
)
_CLAIMS = {  # what a reply says was done, and how
    kind: Pattern(rf"\b(?!\W){languages.alternatives(name)}", re.IGNORECASE | re.MULTILINE)
    for kind, name in (("reminder", "REMINDER_CLAIMS"), ("saved", "PROMISES"), ("forgotten", "FORGETTING_CLAIMS"))
}
_MAX_READ = 20_000  # characters of a reply
_CITATION = Pattern(r"\[[a-z]\d")


# Tests of a sentence.
is_in_first_person = languages.pattern(r"\b<FIRST_PERSON>\b")  # it is about the person who says it
asks_for_reply = languages.pattern(r"\b<ABOUT_REPLIES>\b")  # what the assistant said
asks_how_it_was_done = languages.pattern(r"\b<WORKED_OUT_QUESTION>\b")  # or worked out: a reply may tell it
asks_for_advice = languages.pattern(r"\b<ADVICE_QUESTION>\b")  # or help, on which what the person wishes bears
says_how_to_answer = languages.pattern("<ANSWER_WISH>")  # a wish about language, length, tone, units or format
tells_wish = languages.pattern("<WISH>")  # what its author prefers, or wants always or never
tells_limit = languages.pattern(r"\b(?=\w)<LIMIT>\b")  # what somebody must not have or cannot do: health, diet
tells_liking = languages.pattern(r"\b(?=\w)<LIKING>\b")  # what somebody likes, dislikes or usually does
is_event = languages.pattern(r"\b(?!<NOT_PAST>\b)(?:<EVENT>\b|<PAST>|<PAST_TENSE>)")  # of which there may be another


def is_question(words: str) -> bool:
    return bool(_ENDS_AS_QUESTION.search(words)) or _opens_as_question(words)


def question_share(message: str) -> float:
    """The share of its characters in questions, which seldom hold an answer."""
    asked = (piece for piece in _SENTENCE.split(message) if piece.rstrip().endswith("?"))
    return sum(map(len, asked)) / max(1, len(message))


def _opens_as_question(words: str) -> bool:
    """Whether it begins as questions do, perhaps behind small talk."""
    if _OPENING.match(words):
        return True
    greeting = words[:_LONGEST_SMALL_TALK]
    ends = _small_talk_ends(greeting) if _may_be_small_talk(text.words(greeting)[:1]) else ()
    return any(_OPENING.match(words, end) for end in ends)


def is_small_talk(words: str) -> bool:
    """Whether it only greets, thanks, agrees or takes leave."""
    if len(words) > _LONGEST_SMALL_TALK or not _may_be_small_talk(text.words(words)):
        return False
    return any(not _WORD.search(words, end) for end in _small_talk_ends(words))


def _small_talk_ends(words: str) -> list[int]:
    """Where the phrases of small talk with which it begins end. One pattern would try each way to divide it."""
    places = [word.span() for word in _WORD.finditer(words)]
    begins, found = {0}, list[int]()  # numbers of words
    for number, (start, _) in enumerate(places):
        for last, (_, end) in enumerate(places[number:], number + 1) if number in begins else ():
            if last not in begins and _SMALL_TALK.fullmatch(words[start:end]):
                begins.add(last)
                found.append(end)
    return found


def _may_be_small_talk(words: Iterable[str]) -> bool:
    """Whether all words begin as some of small talk do. Where one does not, no pattern need be compiled."""
    return all(word[:_STEM].lower() in _SMALL_TALK_STEMS for word in words)


def states_something(words: str) -> bool:
    """Whether it may be a statement, as far as rules can tell."""
    return bool(_TWO_WORDS.search(words)) and not is_small_talk(words) and not is_question(words)


def main_clause(clause: str) -> str:
    """A clause with its verb at the end as a main clause: "ich in Graz wohne" becomes "ich wohne in Graz". Only when
    safe: one clause, also without "and" behind a verb, a plain subject, and no separable verb ("aufstehe")."""
    for language in languages.ALL if len(clause) <= _LONGEST_CLAUSE else ():
        last, separable, finite, form, adjectives, joint = (
            languages.expression_of(language, name)
            for name in ("VERB_LAST_CLAUSE", "SEPARABLE_PREFIX", "FINITE_VERB", "VERB_FORM", "TWO_ADJECTIVES", "AND")
        )
        match = re.fullmatch(last, clause)
        of_two = rf"(?!{adjectives}).*(?<!\S)(?=[a-zäöü])(?:{form}) (?:{joint})(?: |$)"
        if match is None or re.match(separable, match["verb"]) or re.match(of_two, match["rest"]):
            continue
        first = re.match(r"\w+", match["rest"])
        if not (first and re.fullmatch(finite, first[0])) and re.fullmatch(form, match["verb"]):
            return f"{match['subject']} {match['verb']} {match['rest']}{match['end']}"
    return clause


def clauses(sentence: str) -> list[str]:
    """The main clauses of a sentence, without what introduces them: each begins with the person, theirs, or a name."""
    found = _CLAUSE_START.split(_INTRODUCTION.sub("", sentence))
    return [each.strip(" ,;") for each in found if each.strip(" ,;")]


def asks(message: str) -> bool:
    return "?" in message or _opens_as_question(message)


def only_asks(message: str) -> bool:
    """Whether a message asks and tells nothing beside."""
    if _is_long(message) or _STATEMENT(message):
        return False
    if (stated := stated_beside(message)) is not None:
        return not stated
    asked = [each for each in text.sentences(message) if not is_small_talk(each)]
    return bool(asked) and all(_QUESTION_END.search(each) or _are_keywords(each) for each in asked)


def _is_long(message: str) -> bool:
    return len(message) > _LONGEST_QUESTION or len(message.split()) > _MAX_QUESTION_WORDS


def stated_beside(message: str) -> str | None:
    """What a message tells beside the clauses that ask, as far as they begin as questions; None when it asks nothing.
    "i fly on friday, where is my passport?" tells that they fly on Friday. What stands in front of a question without a
    verb ("my locker at the pool, which one was it") is what it is about, and belongs to it."""
    stated, asks = list[str](), False
    for sentence in (each for each in text.sentences(message) if not is_small_talk(each)):
        pieces, asked = _CLAUSE.split(sentence), list[bool]()
        for piece in pieces:
            asked.append(_is_asked(piece, asked))
        if sentence.endswith("?") and not any(asked) and not _STATEMENT.search(sentence):
            asked = [True] * len(pieces)
        asks = asks or any(asked)
        stated += [
            piece
            for piece, is_asked, next_asked in zip(pieces, asked, [*asked[1:], False], strict=True)
            if not is_asked and not (next_asked and (_NEEDING.match(piece) or not _VERB.search(piece)))
        ]
    return " ".join(stated) if asks else None


def _is_asked(clause: str, before: Sequence[bool]) -> bool:
    """Whether a clause asks. `before`: whether each of those before it in the sentence does."""
    if _SEEKING.match(clause):
        return True
    if before and before[-1]:  # "for Anna, who is allergic to nuts?" tells something
        asks = not (_STATEMENT.search(f", {clause}") and _VERB.search(clause))
    else:
        opens = _LATER_QUESTION.match(clause) if before else _opens_as_question(clause)
        asks = bool(opens or _QUESTION_END.search(clause))
    return asks and not _STATEMENT.search(clause)


def asks_the_same(message: str, words: Set[str]) -> bool:
    """Whether a message is as good as a question with these words: it may ask, and has no content beyond them."""
    return _INVERTED(message) and words >= set(terms.content_words(message))


def _are_keywords(sentence: str) -> bool:
    """Whether a few words without a verb are what to look for, as in "phone plan price"; a word or two are always."""
    if not _KEYWORDS.fullmatch(sentence) or _VERB.search(sentence):
        return False
    words, is_lower = text.words(sentence), sentence == sentence.lower()
    if len(words) <= (3 if is_lower else 2):  # "climbing hall membership", but not "Eva birthday May"
        return True
    if len(words) > 5 and (not is_lower or _TIME.search(sentence)):
        return False  # "dentist for Eva on Friday morning" tells something
    return any(word in terms.STOP_WORDS or _EVERYDAY.fullmatch(word) for word in words)


def is_empty_reply(reply: str) -> bool:
    """Whether a reply of the assistant says only that it does not know, perhaps with a question or an offer."""
    reply = reply.replace("’", "'")
    if len(reply) > _MAX_EMPTY_REPLY or _CITATION(reply) or not _IGNORANCE(reply):
        return False
    pieces = [_APOLOGY.sub("", each) for each in text.sentences(reply)]
    ignorant = [_IGNORANCE(each) and not _HOWEVER(each) for each in pieces]
    return any(ignorant) and all(
        known or not each or each.endswith("?") or _OFFER.match(each) or is_small_talk(each)
        for each, known in zip(pieces, ignorant, strict=True)
    )


def asks_only_for_time(question: str, time: str, *, past: bool) -> bool:
    """Whether it asks only what was at a time. `past`: else it must say "was", as "today" may ask for what to do."""
    rest = question.replace(time, " ")
    others = _ASKS_FOR_TIME.sub(" ", rest)
    if _NOT_OF_THE_PAST.search(rest) or not (past or others != rest or not _WORD.search(rest)):
        return False
    return all(word in terms.STOP_WORDS or terms.only_asks(word) for word in text.words(others))


def topic_of_saying(question: str, time: str) -> str:
    """What is left of a question for what was said at a time without these: what was said of; empty for others."""
    rest = question.replace(time, " ")
    return _SAYING.sub(" ", rest) if _SAYING.search(rest) else ""


def asks_what_was_told(message: str) -> bool:
    """Whether a message asks for what somebody told, did, has or likes: no task, no advice, no general knowledge."""
    asked = (each for each in text.sentences(message) if asks(each))
    return any(_RECALLING(each) or (not _NEW_WANTED(each) and _ABOUT_PEOPLE(each)) for each in asked)


def preferences(message: str) -> list[str]:
    """The sentences of a message that tell a limit or a liking of its author."""
    stated = (each for each in text.sentences(message) if is_in_first_person(each) and not is_question(each))
    return [each for each in stated if tells_limit(each) or tells_liking(each)]


def emptiness(message: str, role: str, wanted: Collection[str] = ()) -> str:
    """Why a message tells nothing: "small talk", "question" or "empty reply"; an empty string when it does. `wanted`:
    the words that are looked for. A short one that holds them only where it asks is a question too."""
    if is_small_talk(message):
        return "small talk"
    if role == "assistant":
        return "empty reply" if is_empty_reply(message) else ""
    if only_asks(message):
        return "question"
    folded = message.casefold()
    if _is_long(message) or not any(word[: terms.BEGINNING] in folded for word in wanted):
        return ""
    stated = stated_beside(message)
    return "" if stated is None or any(terms.contains_similar(word, stated) for word in wanted) else "question"


def claim(reply: str) -> str:
    """What a reply says was done, "saved", "reminder" or "forgotten"; empty where it says nothing so."""
    plain = text.QUOTED.sub(" … ", reply[:_MAX_READ].replace("’", "'")).replace("*", "").replace("_", " ")
    for sentence in text.sentences(plain) if languages.mentions(plain, "PROMISE_WORDS") else ():
        kind = next((kind for kind, claim in _CLAIMS.items() if claim(sentence)), "")
        if kind and not sentence.endswith("?") and not _NO_PROMISE(_NOT_FORGET.sub("", sentence)):
            return kind
    return ""
