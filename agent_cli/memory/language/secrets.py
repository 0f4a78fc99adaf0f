"""Finds secrets in a text: keys, tokens, passwords, card and ID numbers. They are masked where a text is copied, into
the search index, facts and skills; the log keeps what was said.

Existing detectors are made for source code and report lines, not positions. The shapes of keys are as their makers
publish them (AWS, GitHub, GitLab, Slack, Stripe, OpenAI, Google, npm, PyPI, Telegram and others); python-stdnum checks
card, account and insurance numbers, so that order numbers are not masked. No rule is tried without a label, a long word
or a long number.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from agent_cli.memory.language import languages
from agent_cli.text import Pattern, unseen

Span = tuple[int, int, str]

_MIN_KEY = 16  # characters of the shortest key
# From space to space, the last within reach: in a quarter of the time of splitting the text.
_LONG_WORD = re.compile(rf"(?s:(?:.{{0,{_MIN_KEY - 1}}} |\S{{0,{_MIN_KEY - 1}}}+\s)*+)\S{{{_MIN_KEY}}}")
_DIGITS = re.compile(r"[0-9][0-9][0-9]")  # in half the time of [0-9]{3}
_NUMBER = re.compile(r"[0-9][0-9 .-]{8}")
_WORD_LABELS, _NUMBER_LABELS = languages.phrases("SECRET_LABELS"), languages.phrases("NUMBER_LABELS")

_KEY_PREFIXES = """
    AKIA ASIA ABIA ACCA ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ gl GR1348941 xox xapp- _live_ _test_ whsec_ sk-
    AIza ya29. GOCSPX- npm_ pypi- rubygems_ dckr_ hf_ gsk_ xai- r8_ pplx- tvly- SG. shp _v1_ tskey- lin_api_
    ntn_ secret_ figd_ ATATT3 AGE-SECRET sbp_ hvs. :AA
"""
_KEYS = r"""
    (?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16} | (?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{30,255} | github_pat_\w{22,255}
  | (?:glpat|gldt|glrt|glcbt|glptt|glft|glagent|glsoat|gloas|GR1348941)-?[\w-]{20,255}
  | xox[abeoprs]-[A-Za-z0-9-]{10,255} | xapp-[A-Za-z0-9-]{20,255}
  | (?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,255} | whsec_[A-Za-z0-9+/=]{20,255}
  | sk-(?:ant-|proj-|svcacct-|admin-|or-)?[\w-]{20,255} | AIza[\w-]{35} | ya29\.[\w-]{20,512} | GOCSPX-[\w-]{20,64}
  | npm_[A-Za-z0-9]{36} | pypi-[\w-]{40,512} | rubygems_[a-f0-9]{48} | dckr_(?:pat|oat)_[\w-]{20,64}
  | hf_[A-Za-z0-9]{30,64} | gsk_[A-Za-z0-9]{40,64} | xai-[A-Za-z0-9]{40,128} | r8_[A-Za-z0-9]{37}
  | pplx-[A-Za-z0-9]{40,64} | tvly-[\w-]{20,64} | SG\.[\w-]{16,32}\.[\w-]{32,64} | shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}
  | do[opr]_v1_[a-f0-9]{64} | tskey-[\w-]{20,128} | lin_api_[A-Za-z0-9]{30,64} | (?:ntn|secret)_[A-Za-z0-9]{40,64}
  | figd_[\w-]{30,64} | ATATT3[\w=-]{50,512} | AGE-SECRET-KEY-1[A-Z0-9]{58} | sbp_[a-f0-9]{40} | hvs\.[\w-]{20,255}
  | \d{8,10}:AA[\w-]{33}
"""
_ORDINARY = languages.words("NO_PASSWORD")  # what may follow "the password is" without being a password
_PARTICIPLE = Pattern(languages.alternatives("NO_PASSWORD_ENDING"))
_ORDER_LABEL = languages.pattern(r"<ORDER_NUMBER>[^\d\n]{0,15}$")
# Lengths by first digits: American Express, Diners, Visa, Mastercard, Discover, JCB, UnionPay, Maestro (ISO/IEC 7812).
_CARD_NUMBER = Pattern(
    r"(?:3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}|4\d{15}(?:\d{3})?|5[1-5]\d{14}|2(?:2[2-9]|[3-6]\d|7[01]|720)\d{12,13}"
    r"|6(?:011|5\d\d|4[4-9]\d|2\d\d|7\d\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12})$"
)


def spans(text: str) -> list[Span]:
    """(start, end, kind) of each secret, in order, none overlapping; characters of no width within it count as none."""
    if not (hidden := unseen(text)):
        return _visible_spans(text)
    places = [place for place in range(len(text)) if place not in hidden]
    found = _visible_spans("".join(text[place] for place in places))
    return [(places[start], places[end - 1] + 1, kind) for start, end, kind in found]


def mask(text: str) -> str:
    """The text with "[masked: API key]" and the like in place of each secret."""
    return mask_piece(text, spans(text))


def mask_piece(text: str, found: list[Span], start: int = 0, length: int | None = None) -> str:
    """A piece of a text, masking the spans found in the whole text, also those that it cuts in two."""
    end = len(text) if length is None else start + length
    parts, at = [], start
    for first, last, kind in found:
        if last > start and first < end:
            parts += [text[at : max(at, first)], f"[masked: {kind}]"]
            at = min(last, end)
    return "".join([*parts, text[at:end]])


def _visible_spans(text: str) -> list[Span]:
    number = _contains_any(text, "0123456789") and _DIGITS.search(text)
    folded = text.lower()
    if not (
        _LONG_WORD.match(text)
        or _contains_any(folded, _WORD_LABELS)
        or (number and (_NUMBER.search(text) or _contains_any(folded, _NUMBER_LABELS)))
    ):
        return []
    every = [
        (*place, rule.kind)
        for rule in _rules()
        if not rule.needs or _contains_any(folded, rule.needs)
        for match in rule.pattern.finditer(text)
        if (place := rule.locate(match)) and place[0] < place[1]
    ]
    merged: list[Span] = []
    for start, end, kind in sorted(every, key=lambda span: (span[0], -span[1])):
        if merged and start < merged[-1][1]:  # overlapping
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]), merged[-1][2])
        else:
            merged.append((start, end, kind))
    return merged


def _contains_any(text: str, any_of: Sequence[str]) -> bool:
    for each in any_of:  # noqa: SIM110 (half as fast with any)
        if each in text:
            return True
    return False


class _SecretRule(NamedTuple):
    kind: str
    pattern: re.Pattern[str]
    locate: Callable[[re.Match[str]], tuple[int, int] | None]  # where in the match the secret is, or None
    needs: tuple[str, ...]  # the text must contain one of these, in lower case; none: it may be anything


@cache
def _rules() -> list[_SecretRule]:
    pem = r"(?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
    named = r"(?:api|access|secret|auth|client|private|account|encryption|signing)"
    is_ = rf"(?:\s*+(?:[:=]|=>)\s*+|\s++{languages.alternatives('SECRET_IS')}(?:\s*+:)?\s++)"
    about = rf"(?:\s+{languages.alternatives('SECRET_OF')}\s++[^\n.:;,!?=[]{{1,40}}?)?"
    quote = r"[\"'`„“”‚‘«»]"
    word = rf"[\"']?{is_}(?:{quote}(?P<quoted>[^\n]{{1,80}}?){quote}|(?P<bare>[^\s\[\"'`„“”‚‘«»]\S*))"
    private = (
        rf"-----BEGIN {pem}(?:(?:(?!-----BEGIN )[\s\S]){{0,20000}}?-----END {pem}|(?:\s*+[A-Za-z0-9+/=]{{16,}}+)*+)"
        r"|Private-Lines: \d+(?:\s+[A-Za-z0-9+/=]{16,})+"
    )
    hook = r"https://hooks\.slack\.com/(?:services|workflows)/[\w/+-]{20,200}|AccountKey=[\w+/=]{40,100}"
    jwt = r"(?<![\w-])(?:(?!\beyJ)[\w-])*+(?P<bare>eyJ[\w-]{8,4096}+\.eyJ[\w-]{8,8192}+\.[\w-]{0,4096}+)"
    bearer = r"(?i)\b(?:bearer|basic)\s+(?P<bare>[\w.~+/=-]{16,4096})"
    token = rf"(?i)(?:{named}[\w-]{{0,20}}?[_ -]?(?:key|token|secret)s?|\b(?:token|secret))\b{about}{word}"
    login = r"(?i)\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]*:(?P<bare>[^\s/@]{1,200})@"
    password = rf"(?i)<PASSWORD>s?\b\)?{about}{word}"
    seed = rf"(?i)\b<SEED_PHRASE>\b{about}{is_}{quote}?(?P<bare>[a-zäöü]+(?:[ -][a-zäöü]+){{3,24}})"
    pin = (
        rf"(?i)\b(?:PIN|PUK|CVV2?|CVC2?|TAN)(?:[ -]?<PIN_NUMBER>)?\b{about}(?:{is_}|\s+)"
        r"(?P<bare>\d{3,8})(?!\d|[.,-]\d)"
    )
    number = rf"(?i)\b<ID_NUMBER>{about}(?:{is_}|\s+)(?P<bare>[A-Z0-9](?:[ /.-]?[A-Z0-9]){{5,19}})(?!\w)"
    iban = r"\b[A-Za-z]{2}\d{2}(?: ?[A-Za-z0-9]{4}){2,7}(?: ?[A-Za-z0-9]{1,3})?\b"
    labels = tuple(_KEY_PREFIXES.lower().split())
    rows = (
        ("private key", private, re.Match.span, ("private key", "private-lines")),
        ("API key", rf"(?x)(?<![A-Za-z0-9])(?:{_KEYS})(?![A-Za-z0-9])", _key, labels),
        ("API key", hook, re.Match.span, ("hooks.slack.com", "accountkey")),
        ("token", jwt, lambda match: match.span("bare"), (".eyj",)),
        ("token", bearer, _random, ("bearer", "basic")),
        ("API key", token, _random, ("key", "token", "secret")),
        ("password", login, _labelled, ("://",)),
        ("password", password, _password, _WORD_LABELS),
        ("password", seed, _labelled, ("phrase", "words")),
        ("PIN", pin, _labelled, ("pin", "puk", "cvv", "cvc", "tan")),
        ("card number", r"(?<![\w.+-])\d(?:[ -]?\d){13,18}(?![\w-]|[.,]\d)", _card, ()),
        ("IBAN", iban, _iban, ()),
        ("ID number", r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])", _social_security, ("-",)),
        ("ID number", r"(?<![\w.])756\.?\d{4}\.?\d{4}\.?\d{2}(?!\w)", _social_security, ("756",)),
        ("ID number", number, _id_number, _NUMBER_LABELS),
    )
    return [_SecretRule(kind, re.compile(languages.expand(each)), locate, needs) for kind, each, locate, needs in rows]


def _key(match: re.Match[str]) -> tuple[int, int] | None:
    """A key has digits or mixed case, unlike a slug such as "sk-learn-tutorial-for-beginners"."""
    body = match[0].partition("-")[2] or match[0]
    return match.span() if re.search(r"\d", body) or (body.lower() != body and body.upper() != body) else None


def _labelled(match: re.Match[str]) -> tuple[int, int]:
    """Where the labelled value is, without quotes and the full stop; a password may end in ! or ?."""
    if match.groupdict().get("quoted") is not None:
        return match.span("quoted")
    return match.start("bare"), match.start("bare") + len(match["bare"].rstrip(".,;:)]}\"'`“”»"))


def _random(match: re.Match[str]) -> tuple[int, int] | None:
    """A value that is long, with digits and letters: random rather than a word."""
    place = _labelled(match)
    found = match.string[slice(*place)]
    random = len(found) >= 12 and re.search(r"\d", found) and re.search("[A-Za-z]", found) and "://" not in found
    return place if random else None


def _password(match: re.Match[str]) -> tuple[int, int] | None:
    place = _labelled(match)
    found = match.string[slice(*place)]
    if match["quoted"] is not None:
        return place
    folded = found.lower()
    ordinary = folded in _ORDINARY or (found == folded and _PARTICIPLE.search(folded)) or found.startswith("[")
    return None if ordinary or len(found) < 3 else place


def _id_number(match: re.Match[str]) -> tuple[int, int] | None:
    number = re.match(
        r"(?:[A-Z]{0,3}\d|\d)(?:[ /.-]?(?:[A-Z]{0,3}\d[A-Z]{0,3}|[A-Z](?![A-Za-z])))*", match["bare"], re.I
    )
    if number is None or sum(letter.isdigit() for letter in number[0]) < 5:
        return None
    start = match.start("bare")
    return start, start + number.end()


def _card(match: re.Match[str]) -> tuple[int, int] | None:
    from stdnum import luhn  # 40 ms, rarely needed

    number = re.sub("[ -]", "", match[0])
    grouped = re.fullmatch(r"\d+|\d{4}([ -])\d{4}\1\d{4}\1\d{2,4}(?:\1\d{3})?|\d{4}([ -])\d{6}\2\d{4,5}", match[0])
    ordered = _ORDER_LABEL.search(match.string[max(0, match.start() - 40) : match.start()])
    return match.span() if grouped and _CARD_NUMBER.match(number) and luhn.is_valid(number) and not ordered else None


def _iban(match: re.Match[str]) -> tuple[int, int] | None:
    """Drops words at the end until the number is valid."""
    from stdnum import iban  # see above

    number = match[0]
    while len(number) >= 15:
        if iban.is_valid(number):
            return match.start(), match.start() + len(number)
        number = number.rpartition(" ")[0]
    return None


def _social_security(match: re.Match[str]) -> tuple[int, int] | None:
    from stdnum.ch import ssn as swiss  # see above
    from stdnum.us import ssn

    return match.span() if (ssn if "-" in match[0] else swiss).is_valid(match[0]) else None
