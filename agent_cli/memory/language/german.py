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
