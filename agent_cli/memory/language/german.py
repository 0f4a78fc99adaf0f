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
EVERYDAY = (
    r"(?:wohn|leb|arbeit|mach|brauch|heiss|lieb|mag|moecht|mocht|find|glaub|denk|sag|frag|red|sprech|hor|seh|schau|les"
    r"|schreib|lern|spiel|kauf|bezahl|zahl|koch|trink|schlaf|geh|fahr|reis|zieh|steh|sitz|lieg|bleib|wart|treff|besuch"
    r"|bring|nehm|geb|halt|leg|stell|hol|such|zeig|helf|versuch|beginn|end|hass|erinner|vergess|merk|meld|wiss|heirat"
    r"|werd|konn|woll|soll|muss|durf|lass|komm|hab|ess|schick|nutz|benutz|verwend|fuhl|frei)(?:e|st|t|en|te|test|ten|tet)?"
    r"|(?:ge(?:macht|zogen|sagt|fragt|sehen|hort|gangen|fahren|kauft|kommen|wesen|habt|funden|geben|nommen|lernt|wohnt))"
    r"|umgezogen|weiss|wusste|ging|fuhr|kam|sah|nahm|gab|fand|war|wurde|wollte|konnte|musste|sollte|durfte|ass|trank|lag"
    r"|(?:gut|schlecht|gross|klein|neu|alt|jung|lang|kurz|viel|wenig|ganz|ander|erst|zweit|dritt|letzt|nachst|best|lieblings\w*)"
    r"(?:e|er|es|en|em)?"
    r"|gern|gerne|immer|nie|niemals|oft|manchmal|meist|meistens|schon|noch|etwas|alles|nichts|jemand|niemand|hier|dort|bitte"
    r"|danke|hallo|heute|gestern|morgen|jetzt|dann|spater|bald|seit|ja|nein|doch|mal|eben|halt|wirklich|eigentlich"
    r"|vielleicht|ungefahr|zwei|drei|vier|funf|sechs|sieben|acht|neun|zehn|montags?|dienstags?|mittwochs?|donnerstags?"
    r"|freitags?|samstags?|sonntags?|januar|februar|marz|mai|juni|juli|oktober|dezember"
    r"|(?:zeit|tag|woche|monat|jahr|stunde|minute|ding|sache|leute|mensch|mann|frau|kind|ort|haus|stadt|land|strasse|zimmer"
    r"|tur|auto|arbeit|buro|freund|freundin|familie|mutter|vater|bruder|schwester|sohn|tochter|chef|kollege|kollegin|arzt"
    r"|essen|wasser|kaffee|tee|geld|buch|wort|text|notiz|datei|nachricht|liste|nummer|adresse|telefon|geburtstag|name)"
    r"(?:e|en|er|ern|s|es|n|nen)?"
    r"|(?:mein|dein|sein|ihr|unser|euer|eur)(?:e|er|es|en|em)?"
)

# Dates: the names in the order of the calendar, and the words around a date that say how it counts.
MONTHS = (
    "januar|jänner",
    "februar|feber",
    "märz",
    "april",
    "mai",
    "juni",
    "juli",
    "august",
    "september",
    "oktober",
    "november",
    "dezember",
)
NUMBERS = {"ein": 1, "einem": 1, "einer": 1, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6}
SEASONS = ("frühling|frühjahr", "sommer", "herbst", "winter")
ORDINAL = r"\.?"
PART_OF_DAY = r"(?:der |die )?(?:woche|wochenende|morgen|vormittag|mittag|nachmittag|abend|nacht) (?:vom|des)"
BEFORE_DATE = r"(?:de[ms] )?jahr(?:e?s)?|de[mnrs]"
EARLY = r"anfang|beginn"
MIDDLE = r"mitte"
LATE = r"ende"
SINCE = r"seit"
FROM = r"ab|von|vom|zwischen"
TO = r"bis(?: zum| zur)?|und"
ONWARDS = r"an|weg"
UNTIL = r"bis(?: zum| zur)?"
AT = r"in|im|am|letzte[nrs]?|nächste[nrs]?|diese[nrsm]?"
NOW = r"jetzt|nun|derzeit|zurzeit|momentan|inzwischen|mittlerweile"
LATELY = r"wieder|heute|gestern|neulich|seit kurzem|letzte[ns]? (?:woche|monat|jahr)"
CHANGE = (  # the person begins something: the date in the sentence is its beginning
    r"\b(?:ich|wir)\b.*\b(?:gezogen|umgezogen|übersiedelt|angefangen|begonnen|gewechselt|umgestiegen|geheiratet"
    r"|geworden)\b|\b(?:ziehen?|übersied\w+|fangen?|beginnen?|starten?|wechs\w+|werden?) (?:ich|wir)\b"
    r"|\b(?:ich|wir) (?:ziehen?|übersied\w+|fangen?|beginnen?|starten?|wechs\w+|werden?)\b"
)
FUTURE = (
    r"\b(?:werden?|wird|demnächst|bald|nächste\w*|ziehe[nt]?|zieht|übersied(?:le|eln)|fangen?|beginnen?|starten?)\b"
)
FUTURE_AUXILIARY = r"(?<=\w) (?:werden?|wird)\b"
DURATION = r"seit"
UNITS = (r"tag\w*", r"woche\w*", r"monat\w*", r"jahr\w*")
PERFECT = r"seit"
PAST = r"\b(?:war|waren|hatten?|wohnten?|lebten?|arbeiteten?|(?:habe|bin|hat|ist|haben|sind) .*ge\w+(?:t|en))\b"
