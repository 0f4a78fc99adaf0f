"""The German of the rules: regular expressions in lower case, matched without regard to case."""

TIME_WORDS = (
    r"gestern|heute|morgen|letzte\w*|nächste\w*|vor|woche\w*|monat\w*|jahr\w*|seit|montag|dienstag|mittwoch"
    r"|donnerstag|freitag|samstag|sonntag|januar|februar|märz|mai|juni|juli|oktober|dezember"
)
WHEN_QUESTION = r"wann|seit wann|wie lange"
