"""The German of the rules: regular expressions in lower case, matched without regard to case."""

TIME_WORDS = (
    r"gestern|heute|morgen|letzte\w*|nächste\w*|vor|woche\w*|monat\w*|jahr\w*|seit|montag|dienstag|mittwoch"
    r"|donnerstag|freitag|samstag|sonntag|januar|februar|märz|mai|juni|juli|oktober|dezember"
)
WHEN_QUESTION = r"wann|seit wann|wie lange"
POSSESSIVE = r"(?:mein|unser)(?:e[nmrs]?)?"
FAMILY_NAME = r"mama|mutti|papa|vati|oma|opa"
COMMON_NAME = r"axel|ernst|falk|felix|frank|friede|heide|jahn|kai|klara|lang|linde|mai|mark|rosa|rose|stern|till|wolf"
NO_NAME_AFTER = (
    r"de[rnms]|das|die|ein(?:e[nmrs]?)?|kein(?:e[nmrs]?)?|[md]ein(?:e[nmrs]?)?|letzte[nmrs]?|nächste[nmrs]?|i[mn]"
    r"|am|seit|bis"
)
