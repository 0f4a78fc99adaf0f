"""The German of the rules: regular expressions in lower case, matched without regard to case. english.py says what each
is for; what German has not, such as short names of days ("so" is a word), is left out."""

STOP_WORDS = """aber alle als also am an auch auf aus bei bin bis bist da damit dann das dass dein deine dem den der des
    dich die dir doch dort du durch ein eine einem einen einer eines er es euch euer für gegen habe haben hast hat hatte
    ich ihm ihn ihnen ihr ihre im in ist ja jede jeder kann kannst kein keine können man mein meine meinem meinen meiner
    mich mir mit nach nicht noch nun nur ob oder ohne sehr sein seine sich sie sind so über um und uns unser unter vom
    von vor war waren warum was weil welche welcher wenn wer werden wie wieder will wir wird wo woran wohin zu zum
    zur"""
TIME_WORDS = r"""gestern|heute|morgen|letzte\w*|nächste\w*|vor|woche\w*|monat\w*|jahr\w*|seit|montag|dienstag|mittwoch
    |donnerstag|freitag|samstag|sonntag|januar|februar|märz|mai|juni|juli|oktober|dezember"""
WHEN_QUESTION = r"wann|seit wann|wie lange"
WHERE_QUESTION = r"wo|woher|wohin|welche[rsmn]? (?:stadt|städte|land|länder|ort|orte|gegend|straße)"
PLACE = r"(?:in|im|aus|nach|bei|am)\s+(?:der\s+|den\s+)?[A-ZÄÖÜ][a-zäöüß]+"
NUMBER_QUESTION = r"wie ?viele?|wie (?:alt|oft|lange?|weit|groß|hoch|schwer|teuer)|welche (?:nummer|zahl)"
NUMERALS = r"(?:zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|einmal|zweimal|dutzend|hundert|tausend)\b"
ADVICE_QUESTION = r"""(?:können|könnten) (?:wir|sie)|(?:kannst|könntest|würdest) du|würden sie|wie (?:mache?|schreibe?
    |richte|komme|bereite|finde|würze|installiere) ich|hilf (?:mir|uns)|helfen sie mir|wo (?:finde|bekomme|kaufe) ich
    |was (?:mache|ziehe|nehme|koche|backe|bestelle) (?:ich|wir)|was machen wir|plane? (?:mir|uns|meine?n?)\b|empfiehl\w*
    |empfehl\w*|empfohlen|vorschlag|vorschläge|schlage? (?:mir|uns)|\w*tipps?|idee(?:n)?|rat(?:schlag)?|(?:soll(?:te|en
    |ten)?|kann|könnte) (?:ich|wir|mir|uns)|welche\w* (?:\w+ ){1,3}(?:passt|passen|lohnt|backe|bestelle|könnte)
    |worauf (?:muss|soll) ich|womit"""
WISH = r"""\b(?:(?:ich|wir|mir|uns)\b(?: \w+){0,4} (?:lieber|am liebsten)|bevorzugen?|ziehen?\b[^.!?]{1,60}\bvor
    |ab jetzt|ab sofort|von nun an)\b|(?:\A|[.!?]\s+)(?:\w+ )?(?:mir )?(?:bitte )?(?:immer|nie|niemals)\b"""
_MANNER = r"(?:kurz|knapp|ausführlich|einfach|klar|direkt|förmlich|höflich|freundlich|genau|verständlich)(?:e[nrsm]?)?"
ANSWER_WISH = rf"""\A(?:bitte|immer|stets|nie|niemals|ab jetzt|von nun an|ab sofort|künftig|in zukunft|nur|keine?
    |[\s,:])*+(?:antworten?\b|(?:schreib|sprich|rede)\b[^.!?]{{0,30}}\b(?:auf|in) [a-zäöü]|nenne? mich\b
    |duze?(?: mich)?\b|sieze?(?: mich)?\b|emojis?\b|aufzählungen\b|floskeln\b|erkläre?\b[^.!?]{{0,20}}\beinfach
    |(?:sei|bleib|fasse? dich)\b[^.!?]{{0,15}}\b{_MANNER}\b|(?:benutze?|verwende|nutze|gib|zeige?|vermeide?|lass|halte?
    |füge?|formatiere?|rechne|kurz)\b[^.!?]{{0,40}}\b(?:einheiten|metrisch\w*|celsius|emojis?|tabellen?|aufzählungen
    |überschriften|antwort(?:en)?|erklärung(?:en)?|fachwörter|quellen|floskeln|sätze[n]?|antworten))|\bich (?:möchte
    |will|wünsche mir|bevorzuge|mag|hätte gern|brauche)\b(?:[^.!?]{{0,30}}\b{_MANNER} (?:antwort(?:en)?
    |erklärung(?:en)?)\b| (?:nur |bitte )?keine emojis|[^.!?]{{0,30}}\bdass du (?:\w+ ){{0,4}}(?:antwort\w+|schreib\w+
    |erklär\w+))|\A(?:sehr )?{_MANNER} (?:antworten|erklärungen)\b|\A(?:meine|deine|die|alle) antworten sollen\b
    |\Ametrische einheiten\b|\A(?:ab jetzt|ab sofort|von nun an|künftig)\b[^.!?]{{0,60}}\bantworten?\b"""
ANSWERING = r"(?:bitte\s+)?(?:\w+\s+){0,3}antwort"
LIMIT = r"""\w*allerg\w*|unverträglich\w*|intoleran\w*|vegetari\w*|vegan\w*|koscher|halal|gluten\w*|laktose\w*
    |diabet\w*|zöliakie|asthma\w*|migräne|schwanger\w*|behinder\w*|rollstuhl|blind|taub|gehörlos|legasthen\w*
    |verletz\w*|medikament\w*|krank\w*|gesundheit\w*|schmerzen|\w*angst|\w*phobie|fürchte\w*|trocken|verträgt?|vertrage
    |empfindlich|(?:esse|trinke|fliege|fahre|schwimme|rauche|nehme|habe|kann|darf|will|kaufe|trage
    |benutze)\b[^.!?]{0,40}\b(?:kein\w*|nicht|nie)|kein\w*|strikt|streng|diät|höchstens|budget|religiös\w*"""
LIKING = r"""mag|mögen|mochte|liebe|liebt|bevorzug\w*|lieber|am liebsten|gern(?:e)?|lieblings\w*|begeister\w*
    |interessier\w*|hasse|hasst|verabscheu\w*|vermeide\w*|meide|ausstehen|abneigung|immer|nie|niemals
    |jeden (?:tag|morgen|abend)|nur|wert auf|überzeugt|will|möchte|brauche"""
ASKING = r"""wann|wo|wer|we[nm]|wessen|wohin|woher|wieso|weshalb|wie ?viele?|viele?|welche?[rsmn]?|heißt|heisst|heißen
    |hab|hat|habe|muss|musst|müssen|jetzt|grad|gerade|nochmals?|eigentlich|denn|halt|raus|rein|ab|an|geh(?:e|st|t|en)?|kommt
    |hin(?:getan|gelegt|gestellt|gesteckt|geräumt)|unsere?[rmn]?|namens?|nummer|preis|hoch|sag|sagst|mal|bitte|weißt|weisst|gibt|wurden?|soll|sollte|bloß|tag|datum
    |uhrzeit|jahr|monat|ort|stadt|gefragt"""
PAST_QUESTION = r"""war(?:en|st)?|hatten?|wurden?|früher|damals|vorher|zuvor|einst|(?:bin|bist|ist|sind|habe?|hast|hat
    |haben)\b.{0,100}\b(?!gern)\w{0,4}ge\w{2,}(?:t|en)"""
FUTURE_QUESTION = r"""werden?|wirst|wird|nächste[rsmn]?|bald|künftig|demnächst|plan(?:e|st|t|en)?|pläne
    |vor(?:habe|hast)|zukunft"""
_SAID = r"(?:empfohlen|vorgeschlagen|ge(?:raten|sagt|nannt|geben)|erklärt|erwähnt|[bg]eschrieben|aufgelistet|angeboten)"
_YOU_SAID = rf"(?:hast|hattest) du\b.{{0,80}}?\b{_SAID}|{_SAID} (?:hast|hattest)"
ABOUT_REPLIES = rf"{_YOU_SAID}|dein\w* (?:rat|vorschl\w+|empfehlung\w*|antwort\w*|erklärung\w*)"
WORKED_OUT_QUESTION = r"""wie (?:hab|habe|hatte|bin|war) ich|wie (?:haben|hatten|sind|waren) wir
    |(?:was für|welche[nrs]?) (?:\w+ )?(?:schritte?|ansatz|ansätze|vorgehen(?:sweise)?|plan|pläne|zeitplan|strategien?
    |methoden?|technik(?:en)?|system|ablauf|weg|reihenfolge|routine) (?:hab|habe|haben|hatten?|wollten?) (?:ich|wir)"""
RECALLING = rf"""erinnerst du dich|weißt du noch|erinnere? mich|was weißt du (?:alles )?(?:über|von) (?:mich|mir|uns)
    |(?:hab|habe|hatte) ich (?:dir )?.{{0,60}}\b(?:gesagt|erzählt|erwähnt|gefragt|berichtet)
    |ich (?:habe? .{{0,60}}\bvergessen|finde .{{0,60}}\bnicht|weiß nicht mehr)|{_YOU_SAID}"""
NEW_WANTED = r"""(?:kannst|könntest|würdest|magst) du (?!(?:mir )?(?:bitte |noch |mal |vielleicht )?(?:sagen|dich
    |mich erinnern|nachsehen)\b)|soll(?:te|ten|en)? (?:ich|wir)|(?:kann|könnte|darf) (?:ich|man)|(?:können|könnten
    |dürfen) wir|wie \w+t man|wie (?:mach|schreib|koch|back|bau|lern|lös|komm|reinig|berechn)e? ich|(?:empfiehlst|rätst
    |meinst|schlägst) du|hast du .{0,40}\b(?:ideen?|tipps?|vorschläge?|empfehlung\w*)|was (?:sind|wäre|wären) (?:ein
    |gute|die besten)|gibt es (?:ein|gute)|was (?:koche?|schenke?) ich|hilf mir|\A\W*(?:bitte )?(?:erklär|beschreib
    |schreib|übersetz|entwirf|formulier|(?:zeig|gib|erzähl|sag) mir (?:ein|wie man))"""
_PERSON = r"(?-i:[A-ZÄÖÜ][a-zäöüß][\w-]{0,30})"
ABOUT_PEOPLE = rf"""\b(?:ich|mir|mich|wir|uns|(?:mein|unser|sein|ihr)(?:e[nmrs]?)?)\b
    |\b(?:hat|hatte|ist|war|wird|will|kann|mag|wohnt|lebt|arbeitet) er\b|\b(?:wohnt|lebt|arbeitet|heißt|heisst|mag|isst
    |trinkt|studiert|fährt|spielt|kommt|hat|hatte|möchte|will|sagt|sagte) (?:sie\b|{_PERSON})|\b(?:ist
    |war) {_PERSON} (?:am|im|in|bei|auf|nach|schon|noch|gerade)\b|(?:wer|wie alt) ist {_PERSON}"""
POSSESSIVE = r"(?:mein|unser)(?:e[nmrs]?)?"
KIN = """frau:wife mann:husband ehefrau:wife ehemann:husband partner:partner partnerin:partner lebensgefährtin:partner
    lebensgefährte:partner freundin:girlfriend freund:boyfriend schwester:sister bruder:brother mutter:mother
    vater:father sohn:son tochter:daughter onkel:uncle tante:aunt cousin:cousin cousine:cousin nichte:niece neffe:nephew
    oma:grandmother opa:grandfather nachbar:neighbour nachbarin:neighbour chef:boss chefin:boss kollege:colleague
    kollegin:colleague vermieter:landlord vermieterin:landlord hausarzt:doctor hausärztin:doctor arzt:doctor
    ärztin:doctor zahnarzt:dentist zahnärztin:dentist hund:dog katze:cat pferd:horse hase:rabbit
    schwiegermutter:mother_in_law schwiegervater:father_in_law schwägerin:sister_in_law schwager:brother_in_law"""
FAMILY_NAME = r"mama|mutti|papa|vati|oma|opa"
COMMON_NAME = r"axel|ernst|falk|felix|frank|friede|heide|jahn|kai|klara|lang|linde|mai|mark|rosa|rose|stern|till|wolf"
NO_NAME_AFTER = r"de[rnms]|das|die|[kmd]?ein(?:e[nmrs]?)?|letzte[nmrs]?|nächste[nmrs]?|i[mn]|am|seit|bis"
EVERYDAY = r"""(?:wohn|leb|arbeit|mach|brauch|heiss|lieb|mag|moecht|mocht|find|glaub|denk|sag|frag|red|sprech|hor|seh
    |schau|les|schreib|lern|spiel|kauf|bezahl|zahl|koch|trink|schlaf|geh|fahr|reis|zieh|steh|sitz|lieg|bleib|wart|treff
    |besuch|bring|nehm|geb|halt|leg|stell|hol|such|zeig|helf|versuch|beginn|end|hass|erinner|vergess|merk|meld|wiss
    |heirat|werd|konn|woll|soll|muss|durf|lass|komm|hab|ess|schick|nutz|benutz|verwend|fuhl|frei)(?:e|st|t|en|te|test
    |ten|tet)?|(?:ge(?:macht|zogen|sagt|fragt|sehen|hort|gangen|fahren|kauft|kommen|wesen|habt|funden|geben|nommen|lernt
    |wohnt))|umgezogen|weiss|wusste|ging|fuhr|kam|sah|nahm|gab|fand|wurde|ass|trank|lag|(?:gut|schlecht|gross|klein|neu
    |alt|jung|lang|kurz|viel|wenig|ganz|ander|erst|zweit|dritt|letzt|nachst|best|lieblings\w*|[mds]ein|ihr|unser|euer
    |eur)(?:e|er|es|en|em)?|gern|gerne|immer|nie|niemals|oft|manchmal|meist|meistens|schon|etwas|alles|nichts|jemand
    |niemand|hier|bitte|danke|hallo|heute|gestern|morgen|jetzt|spater|bald|seit|nein|mal|eben|wirklich|eigentlich
    |vielleicht|ungefahr|zwei|drei|vier|funf|sechs|sieben|acht|neun|zehn|(?:mon|diens|donners|frei|sams|sonn)tags?
    |mittwochs?|januar|februar|marz|mai|juni|juli|oktober|dezember|(?:zeit|tag|woche|monat|jahr|stunde|minute|ding|sache
    |leute|mensch|mann|frau|kind|ort|haus|stadt|land|strasse|zimmer|tur|auto|arbeit|buro|freund|freundin|familie|mutter
    |vater|bruder|schwester|sohn|tochter|chef|kollege|kollegin|arzt|essen|wasser|kaffee|tee|geld|buch|wort|text|notiz
    |datei|nachricht|liste|nummer|adresse|telefon|geburtstag|name)(?:e|en|er|ern|s|es|n|nen)?"""

MONTHS = "januar|jänner februar|feber märz april mai juni juli august september oktober november dezember"
DAYS = "montag dienstag mittwoch donnerstag freitag samstag|sonnabend sonntag"
TIME_UNITS = "sekunden? minuten? stunden?|std tag(?:en?)? wochen? monat(?:en?)? jahr(?:en?)?"
HOW_OFTEN = "stündlich täglich wöchentlich monatlich jährlich"
NTH = "erste[nrs]? zweite[nrs]? dritte[nrs]? vierte[nrs]? letzte[nrs]?"
_TO_TWELVE = ("ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf")
NUMBERS = {"eins": 1, "zwanzig": 20, **{word: number for number, word in enumerate(_TO_TWELVE, 1)}}
INDEFINITE, ORDINAL = "einem|einer|eine|einen", r"\.?"
SEASONS = "frühling|frühjahr sommer herbst winter"
PART_OF_DAY = r"(?:der |die )?(?:woche|wochenende|morgen|vormittag|mittag|nachmittag|abend|nacht) (?:vom|des)"
BEFORE_DATE, AT = r"(?:de[ms] )?jahr(?:e?s)?|de[mnrs]", r"in|im|am|letzte[nrs]?|nächste[nrs]?|diese[nrsm]?"
EARLY, MIDDLE, LATE = r"anfang|beginn", r"mitte", r"ende"
SINCE, UNTIL = r"seit", r"bis(?: zum| zur)?"
FROM = r"ab|von|vom|zwischen"
TO, ONWARDS = r"bis(?: zum| zur)?|und", r"an|weg"
NOW = r"jetzt|nun|derzeit|zurzeit|momentan|inzwischen|mittlerweile"
DAYTIME = r"morgens|(?:vor|nach)?mittags|abends|nachts|täglich"  # in front of a dose
LATELY = r"wieder|heute|gestern|neulich|seit kurzem|letzte[ns]? (?:woche|monat|jahr)"
PAST_TIME = r"""(?:vor)?gestern|(?:letzte|vorige|vergangene)[nrs]? (?:nacht|woche|wochenende|monat|jahr|(?:mon|diens
    |donners|frei|sams|sonn)tag|mittwoch|sonnabend)|vor (?:\d{1,3}|einem|einer|zwei|drei|vier|fünf|sechs|einigen
    |ein paar) (?:minute|stunde|tag|woche|monat|jahr)e?n?"""
TIME_AS_TOPIC = r"""\b(?:über|von|vom|seit|für|wie|als|nach|mit|zu|zum)(?:\s+(?:der|den|die|das|dem))?$
    |\b(?:was|wer|wie|warum|wo|dass|ob|ich|wir|er|sie)\b"""
CHANGE = r"""\b(?:ich|wir)\b(?:(?!\b(?:ich|wir)\b).){0,200}\b(?:gezogen|umgezogen|übersiedelt|angefangen|begonnen
    |gewechselt|umgestiegen|geheiratet|geworden)\b|\b(?:ziehen?|übersied\w+|fangen?|beginnen?|starten?|wechs\w+
    |werden?) (?:ich|wir)\b|\b(?:ich|wir) (?:ziehen?|übersied\w+|fangen?|beginnen?|starten?|wechs\w+|werden?)\b"""
FUTURE = r"\b(?:werden?|wird|demnächst|bald|nächste\w*|zieh(?:en?|t)|übersied(?:le|eln)|(?:fang|beginn|start)en?)\b"
FUTURE_AUXILIARY = r"(?<=\w) (?:werden?|wird)\b"
DURATION, PERFECT = r"seit", r"seit"
PAST = r"\b(?:war|waren|hatten?|wohnten?|lebten?|arbeiteten?|(?:habe|bin|hat|ist|haben|sind) .{0,100}ge\w+(?:t|en))\b"
_MOVED = r"(?:bin|ist|sind)\b.{0,200}\b\w{0,12}(?:ge(?:zogen|fahren|gangen|kommen|flogen|storben|reist)|worden)"
PAST_TENSE = rf"""\b(?:hat|habe|haben|war|waren|wurde\w*|(?:kam|ging|fuhr|traf|zog|flog)(?:en)?|starb|bekam|verlor
    |begann|{_MOVED})\b"""
_PARTICIPLE = r".{0,200} (?-i:[a-zäöüß])\w*(?:t|en)(?=[.,;!]|$| und\b| aber\b)"
NOT_PAST = rf"ha(?:t|ben?)\b(?!{_PARTICIPLE})"
OF_WHICH_DAY = r"vor|der|nach (?:de[mr]|ostern|pfingsten|weihnachten)"
NOT_ONCE = rf"""immer|meist\w*|normalerweise|oft|manchmal|nie|regelmäßig|jede\w*|alle|wöchentlich|wenn|falls|offen
    |geöffnet|geschlossen|ruhetag|training|kurs|chor|yoga|\w*probe|unterricht|stammtisch|markt|müll\w*|arbeite[nt]?
    |heute|morgen|gestern|wochen?|monat\w*|sagte?|gesagt|(?!{_MOVED})(?:bin|ist|sind)\b{_PARTICIPLE}"""

DATE_HINTS = r"quartal|gestern|heute|morgen|woche|monat|jahr|heuer|tag|abend|mittag|mittwoch|letzt|nächst"

# Relative dates in a statement: a preposition contracts with the article that follows.
_BEFORE = r"(?:(?P<before>seit|bis|ab|von|vor|nach) )?"
_WAY = r"(?:(?P<last>(?:letzte|vergangene|vorige)[nrsm]?)|(?P<this>diese[nrsm]?)|(?P<next>(?:nächste|kommende)[nrsm]?))"
_PART = r"(?: (?P<part>früh|vormittag|mittag|nachmittag|abend|nacht|morgen))?"
RELATIVE_DATES = (
    rf"{_BEFORE}(?:(?P<before_yesterday>vorgestern)|(?P<yesterday>gestern)|(?P<today>heute)"
    rf"|(?P<after_tomorrow>übermorgen)){_PART}",
    rf"{_BEFORE}(?P<tomorrow>(?<!guten\s)(?<!am\s)(?<!jeden\s)(?<!des\s)(?-i:morgen)(?=\s|[.!,]|$)){_PART}",
    rf"{_WAY} (?P<week>woche) (?:am )?<DAY>",
    rf"(?:(?:in der|in|während der) )?{_BEFORE}(?:der )?{_WAY} (?P<week>woche)",
    rf"(?:(?:in|im|am) )?{_BEFORE}(?:de[mnr] )?{_WAY}"
    r" (?:(?P<weekend>wochenende)s?|(?P<month>monat)e?s?|(?P<year>jahr)e?s?)",
    r"(?P<this>(?P<year>heuer))",
    rf"(?:am )?<DAY> (?:in )?(?:der )?{_WAY} (?P<week>woche)",
    rf"(?:am )?{_BEFORE}(?:de[mn] )?{_WAY} <DAY>",
    r"(?:(?P<since>seit)|(?P<until>ab|bis))(?: zum| dem)? <DAY>",
    rf"am <BARE>(?:(?P<part>vormittag|mittag|nachmittag|abend|nacht)|{_PART})",
    r"(?P<ago>vor) <NUMBER> <UNIT>",
    r"(?P<ahead>in) <NUMBER> <UNIT>",
    r"(?P<in_front>seit|ab|bis|am|dem|zum) <SLASHED>",
)
WRITTEN_DATE = "{day}. {month} {year}"
WRITTEN = {
    "day": ("an", "dem {date}"),
    "week": ("in", "der Woche vom {date}"),
    "weekend": ("an", "dem Wochenende vom {date}"),
    "month": ("im", "{month} {year}"),
    "year": ("im Jahr", "{year}"),
    "part": ("an", "dem {part} des {date}"),
    "night": ("in", "der Nacht des {date}"),
}
_PARTS = ("morgen", "vormittag", "mittag", "nachmittag", "abend")
WRITTEN_PARTS = {part: part.capitalize() for part in _PARTS} | {"früh": "Morgen", "nacht": "night"}
CONTRACTED = {"an dem": "am", "bis dem": "bis zum", "bis der": "bis zur", "von dem": "vom"}

UP_TO, SINCE_THEN = r"vor(?: dem)?|bis(?: zum)?", r"nach(?: dem)?|seit(?: dem)?"
ON_DAY, IN_MONTH, IN_YEAR = r"letzte[nrs]?|vergangene[nrs]?|vorige[nrs]?|am", r"in|im", r"im jahr"
LAST_UNITS = r"(?:(?:in|während) )?(?:de[nr] )?(?:letzten|vergangenen|vorigen)"
FEW, QUARTER = r"paar", r"quartals?|vierteljahr"
IN_WEEK, OF_WHAT_FOLLOWS = r"(?:in |während )?(?:der )?(?:kw|kalenderwoche)|in (?:der )?woche", r"(?:des|der|von)\b"
LAST, THIS = r"(?:letzte|vergangene|vorige)[nrsm]?", r"diese[nrsm]?"
SAYING = r"""erzählt\w*|gesagt|sagten?|gesprochen|sprachen|geredet|besprochen|mitgeteilt|erwähnt|notiert|notizen
    |geschrieben|gespräche?|nachrichten"""
ASKS_FOR_TIME = r"""gemacht|getan|passiert\w*|geschehen|ereignet|los|unternommen|erlebt|gearbeitet|fass\w*|zusammen\w*
    |worüber|woran|wovon|gewesen|getrieben|gelernt|alles|zeige?|tat|taten|machten?"""
NOT_OF_THE_PAST = r"soll\w*|werde\w*|wird|kann|können|könnte\w*|würde\w*|will|möchte\w*|plan\w*|nächste\w*"

PART_HOURS = {"früh": 8, "morgen": 9, "vormittag": 10, "nachmittag": 15, "abend": 18, "nacht": 20}
POINT_HOURS = {"mittag": 12, "mittags": 12, "mitternacht": 0}
_QUARTER_TO = dict.fromkeys(("viertel vor", "dreiviertel", "drei viertel"), (-1, 45))
SPOKEN_TIMES = {"halb": (-1, 30), "viertel nach": (0, 15), **_QUARTER_TO, "viertel": (-1, 15)}
CLOCK, DAY_ENDING = r"uhr(?: \d\d)?", r"tag"
AT_TIME, AT_HOUR, IN_PART = r"um|(?P<ends>bis)|gegen|zu", r"um|gegen", r"am|in der|zu"
BEFORE_TIME = TO_HOUR = r"vor"
AFTER_TIME = r"nach"
ARTICLE_OF_DATE, NTH_ENDING = r"de[mnr] ", r"\."
ON_DATE, DUE_ON = r"(?P<ends>bis(?: zum)?)|am|den", r"am|(?P<ends>bis(?: zum)?)"
NEXT_WEEK = r"(?P<next>nächste) (?P<week>woche)"
COMING = r"(?:de[nmr] )?(?:(?P<next>nächste)|(?P<second>übernächste)|kommende|diese)[nrsm]?"
NEXT_PERIOD = r"(?:im )?(?P<next>nächste[ns]?) (?:(?P<week>woche)|(?P<month>monat)|(?P<year>jahr))"
WEEKEND = r"(?:am )?(?:(?:de[nmr] )?(?:nächste|kommende|diese)[nrsm]? )?wochenende"
TODAY = r"heute"
TOMORROW, DAY_AFTER_TOMORROW = r"(?<!am\s)(?<!guten\s)morgen(?!s)", r"übermorgen"
ABOUT, AND = r"etwa |ca\.? ", r"und"
FRACTIONS = {"einer? halben?": 0.5, "einer? viertel": 0.25, "einer? dreiviertel": 0.75}
FRACTIONS |= {"anderthalb|eineinhalb": 1.5, "ein paar": 3}
NO_TIME = r"irgendwann|später|bald|demnächst|nie"
AROUND_TIME = r"um|am|im|der|den|bis|uhr|und"
_YOU_ARE_TO = r"(?:(?:kannst|könntest|würdest)\s+du|du\s+(?:musst|sollst|solltest))\s+mich"
REMIND = rf"""erinnere?\s+mich|erinnern\s+sie\s+mich|{_YOU_ARE_TO}(?!\s+nicht\b)(?=[^,.!?]*\berinnern\b)|stelle?\s+mir
    (?:\s+bitte)?\s+eine\s+erinnerung(?:\s+für\b)?"""
REMIND_END = r"(?<!zu )erinnern"
REMIND_TO = r"(?:bitte\s+)?daran(?:\s+erinnern)?"
REMIND_ME = rf"""(?:bitte )?(?:{REMIND}|{_YOU_ARE_TO}(?: bitte)?$)\b:?\s*(?:bitte(?:\s+|$))?
    (?:(?:an|daran(?:\s+erinnern)?,?(?: dass)?)(?:\s+|$))?"""
WITH_ZU = r"\bzu (?=\w++(?<=n)\W*+$)|\b(?P<prefix>\w{2,9}?)zu(?=\w{3,}+(?<=n)\W*+$)"  # ends what to do: "Eva anzurufen"

EVERY, OTHER = r"(?:einmal )?jede[nrsm]?|alle|einmal (?:am|pro|im|in der)", r"zweite[nrs]?"
OF_EVERY_MONTH, OF_EACH_MONTH = r"jede[sn] monats", r"im monat|(?:des|jede[sn]) monats"
WORKDAYS, WEEKENDS = r"(?:jede[nrsm]?|alle) (?:werktag|wochentag)s?|werktags|an werktagen", r"jede[nrsm]? wochenende"
SEVERAL_TIMES, PER = r"(?:[2-9]|zwei|drei|vier|fünf|sechs)\s?(?:mal|x)", r"am|pro|im|in der|jede[nrs]?"
BETWEEN_DAYS, TO_DAY, ON_REPEATED = r"und", r"bis", r"am|zum"
FIRST_DAY, LAST_DAY = r"ersten(?: tag)?", r"letzten tag"

VERB = r"""(?:ist|sind|war|waren|hat|haben|hatte|heißt|heißen|wohnt|wohnen|lebt|leben|arbeitet|mag|mögen|liebt|hasst
    |isst|trinkt|fährt|spielt|spricht|kann|können|muss|will|wird|kommt|geht|kostet|steht|liegt|gehört|braucht|beginnt
    |endet|bekommt|verträgt|studiert|kennt|nutzt|verwendet)\b"""
# the last: "der Raum B12 ist", "der Raum ist B12"
OWN_STATEMENT = rf"""(?:(?:ich|wir)\b|(?:meine?|unsere?)[rsnm]?\s++(?:[\w-]++\s++){{1,5}}?{VERB}|(?:der|die
    |das)\s+(?=(?:[\w-]++\s++){{0,9}}?(?:ist|sind)\b)(?=[^.!?\n]{{0,60}}\d))"""
STATEMENT = rf"(?:{OWN_STATEMENT}|(?:[\w-]++\s++){{1,6}}?{VERB}|(?:meine?|unsere?)\s[\w -]{{2,40}}+:\s)"
# with regard to case: nouns have a capital letter
VERB_LAST_CLAUSE = r"""(?P<subject>(?:ich|wir|er|sie|es|man)|(?:mein|unser)e? (?i:bruder|schwester|tante|onkel
    |sohn|tochter|frau|mann|\w*mutter|\w*vater|oma|opa|cousine?|nichte|neffe|enkel(?:in)?|freund(?:in)?|kolleg(?:e|in)
    |chef(?:in)?|nachbar(?:in)?|partner(?:in)?) [A-ZÄÖÜ][\w-]*
    (?= (?:seit|in|im|bei|beim|am|auf|aus|mit|nicht|eine?n?|keine?n?|gerne?|jeden?|\d+|\w+tags) )
    |(?:mein|unser)e? [A-ZÄÖÜ][\w-]* (?:(?:Frau|Herr|Dr\.) [A-ZÄÖÜ][\w-]*
    |(?!Frau|Herr)[A-ZÄÖÜ][\w-]*(?=(?: [^\w\s]+)? [A-ZÄÖÜ][\w-]*(?: [a-zäöüß]+){1,2}\W*$))
    |(?:mein|unser)(?:e|en|em|er|es)?(?: [a-zäöüß]+)?(?: [A-ZÄÖÜ][\w-]*)+?(?! [A-ZÄÖÜ][\w-]* (?:das|die|den|eine?n?) )
    |(?:(?:Frau|Herr|Dr\.|Oma|Opa|Tante|Onkel|der|die|das) )?[A-ZÄÖÜ][\w-]+(?= (?:seit|in|im|bei|beim|am
    |jeden?|keine?n?|gerne?|nicht|\d+|\w+tags) )) (?P<rest>[^,;:]+) (?P<verb>[a-zäöüß]+)(?P<end>[^\w,;?]*)"""
FINITE_VERB = r"ist|bin|sind|war|hat|haben?|heiß[te]|wohn(?:e|t|en)|leb[et]|arbeitet?|mag|liebe|esse"
VERB_FORM = rf"{FINITE_VERB}|\w+(?:e|t|en)|bin|wird|muss|kann|will|darf"
TWO_ADJECTIVES = (
    r"[a-zäöüß]+(?P<ending>e[nrs]?) und [a-zäöüß]+(?P=ending) [A-ZÄÖÜ]"  # and no verb: "rote und grüne Äpfel"
)
SEPARABLE_PREFIX = r"ab|an|auf|aus|bei|ein|fest|her|hin|los|mit|nach|um|vor|weg|zu|zurück"

MEMORY_WORDS = "erinner|merk|halt|notier|notiz|schreib|speicher|vergiss|vergess|denk|später"
POLITE_END = r"bitte|danke"
PLEASE = r"bitte|mal|doch|hallo|und|also|dann|ach|übrigens|aber|jetzt|wenn (?:du kannst|es geht)|(?:wenn|falls) möglich"
JOINT, CONDITION = rf"(?:{AND}|aber|also|dann)", r"wenn|falls|sobald|bevor|nachdem"
NO_REQUEST = r"(?:ich\b[^.!?]{0,80}\bund\s+(?:dann\s+)?erinnere\s+mich(?!\s+bitte)|(?:(?:sag|mein|frag)te?),\s+erinn)"
DO_NOT_FORGET = r"(?:(?:vergiss|vergesst|vergessen\s+sie)(?:\s+bitte)?\s+(?:nicht|nie)|nicht\s+vergessen)"
REMEMBER = rf"""(?:(?:merke?|behalte?|notiere?)\s+(?:dir|euch)|schreibe?\s+dir\s+(?:bitte\s+)?auf|merken\s+sie\s+sich
    |{DO_NOT_FORGET}|denke?\s+(?:bitte\s+)?da?ran|behalte?(?:\s+bitte)?\s+im\s+(?:kopf|hinterkopf|gedächtnis)|behalte
    |(?:notiz\s+)?für\s+später)"""
REMEMBER_QUESTION = r"""(?:kannst|könntest|würdest|magst)\s+du\s+dir\s+(?:bitte\s+|mal\s+)*(?:das\s+)?(?:merken
    |notieren|aufschreiben)"""
NOTE = r"(?:notiere?|speichere?|(?:halte?|schreibe?)\s+(?:bitte\s+)?(?:fest|auf))"
HERE = r"(?:für\s+dieses|in\s+diesem)\s+(?:projekt|ordner|verzeichnis|repository)|hier"
FOR_LATER = rf"bitte|mal|doch|gut|für\s+(?:später|mich)|im\s+kopf|auch|{HERE}"
STANDING = r"(?:bitte\s+)?(?:ab\s+(?:jetzt|sofort)|von\s+nun\s+an|künftig|in\s+zukunft|immer|nie|niemals)"
THAT, THAT_BEFORE, AS_FOLLOWS = r"(?:dass|daß)", r"(?:das|es)", r"(?:das|folgendes)"
ASKED = r"wann|wo|wer|wen|wem|was|welche[rsnm]?|warum|wie|ob"
THINGS_PAST = rf"(?:{ASKED}|als|damals)\b"
TO_DO = r"(?:,\s*+)?(?!(?:dass|daß|ich|wir)\b)(?=(?:[^,:]*\s)?(?:zu\s+\w+n|(?>\w+?zu)\w{2,}+(?<=n))\s*+[.!]*+$)"
FURTHER_REQUEST = r"""(?:und|dann)\s+(?:(?:dann|jetzt|bitte)\s++){0,9}(?:sag|gib|zeig|schreib|erklär|was|wie|warum
    |kannst\s+du)\b"""
FORGET = r"""(?:vergiss|vergesst|vergessen\s+sie|(?:kannst|könntest
    |würdest)\s+du\s+(?:bitte\s+)?vergessen)(?:\s+(?:bitte|mal|doch|wieder))*"""
FORGETTABLE = r"""(?:,\s*+)?(?:dass|daß)\s+|(?:,\s*+)?(?:was|alles,?\s+was)\s+(?:ich|du|wir)\s++[^.!?]*?\b(?:über|von
    |zu)\s+|alles\s+über\s+|(?=(?:meine?|unsere?)[rsnm]?\s)"""
DOUBT = r"""wenn|falls|würde\w*|könnte\w*|sollte\w*|möchte\w*|wollen|werde|vielleicht|wahrscheinlich|wohl|früher|fast
    |glaube|hoffe"""
NEGATING = r"nicht|nichts|kein\w*|nie|niemals|nimmer|niemand\w*|weder|ohne"
COUNTING, TIMES = r"(?:zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf)(?:mal)?|einmal", r"mal"
DENYING = r"\b(?:(?:gar |überhaupt )?nicht|nie|niemals)\b|\bk(?=ein(?:e[nmrs]?)?\b)"
NOT_DENYING = r"nur|bloß|sondern|noch|weit"
NO_LONGER = r"nicht (?:mehr|länger)|kein\w*\b.*\bmehr|nimmer"
NEGATED = r"nicht (?:mehr|länger)|nicht|mehr|nimmer|kein\w*"
SOLD, STOPPED = r"verkauft|hergegeben", r"aufgehört|höre auf|aufgegeben"
LEFT = r"verlassen|gekündigt|getrennt|weggezogen|ausgezogen"  # where or with whom the person lives, works, studies
I_MEANT, DENIED, RATHER = r"ich meint?e", r"nicht", r"sondern"
REVISED, NEW = r"korrektur|moment|eigentlich|tatsächlich", r"(?:neue|jetzige|aktuelle)[rmns]?"
AS, IT, THEY = r"als", r"es", r"er|sie"
INSTEAD = r"anstatt|statt|anstelle von|an stelle von"
HABIT = r"benutze|nutze|verwende|fahre|trage"
SWITCHED = r"von (?P<old>.+?) (?:auf|zu) (?P<new>.+?) (?:umgestiegen|gewechselt)"
CLAUSE_OPENING = r"und|aber|also|dann|denn|sondern|deshalb|darum"
OWN_CLAUSE = rf"(?:ich|wir)\b|(?:jetzt|nun) \w+ (?:ich|wir)\b|(?:meine?|unsere?) (?:[\w-]+ ){{1,4}}?{VERB}"
SELF, OPINION = r"ich|wir", r"kann|könnte|weiß|verstehe|erinnere|glaube|sehe|höre|denke|geht"
SMALL_TALK = r"""hallo|hi|hey|servus|moin|grüß (?:dich|gott|euch)|grüezi|tach|guten (?:morgen|tag|abend)|gute nacht
    |morgen|abend|nochmals?|noch ?mal|wieder|zusammen|wie geht(?:'s| es)?(?: (?:dir|ihnen|euch))?|alles gut
    |danke(?: (?:dir|ihnen|schön|sehr))?|vielen (?:lieben )?dank|herzlichen dank|dankeschön|besten dank|merci|ok|okay
    |gut|sehr gut|super|toll|prima|klasse|perfekt|schön|wunderbar|genau|stimmt|richtig|passt(?: so)?|ja|jep|jo|nein|nö
    |bitte(?: (?:schön|sehr))?|gerne?|verstanden|verstehe|alles klar|klar|in ordnung|einverstanden|kein problem
    |macht nichts|egal|sorry|entschuldigung|ach so|achso|aha|hm|hmm+|oh|tschüss|tschau|ciao|baba|auf wiedersehen
    |bis (?:bald|später|dann|morgen)|mach's gut|schönen (?:tag|abend)(?: noch)?|schönes wochenende|und|dann|also|na|so
    |doch|du|gern geschehen|was kann ich (?:für (?:dich|sie) )?tun|das war hilfreich|freut mich|wie läuft(?:'s|s| es)
    |wie kann ich (?:dir|ihnen) (?:heute )?helfen|notiert|gut zu wissen|danke für (?:die info(?:rmation)?|den hinweis)
    |(?:das )?merke? ich mir|ich merke? (?:mir das|es mir)|(?:das )?habe? ich (?:mir )?(?:notiert|gemerkt)"""
INSTRUCTION = r"""bitte|immer|nie|niemals|ab jetzt|von nun an|du|sie sollen|dein\w*|ignoriere?|vergiss|antworte|merke?
    |der assistent|das modell|die ki"""
INSTRUCTIONS_MEANT = r"(?:vorherige|frühere)\w* anweisung\w*"
ASSISTANT_MUST = r"(?:assistent|ki|du) (?:muss|soll(?:te|st)?|musst)"
QUESTION_OPENING = r"""(?:wer|wen|wem|wessen|was|welche[rsnm]?|wo|woher|wohin|wann|warum|wieso|weshalb|wie|wieviel
    |womit|worum|woran|wofür)|(?:in|an|auf|bei|mit|von|zu|für|aus|ab|seit|bis|um|nach) (?:welche[rsnm]?|wem|wen|was
    |wann|wie|wo)|(?:ist|sind|war|waren|hat|haben|hatte|kann|können|soll|sollte|muss|darf|wird|gibt|gab|mag|heißt
    |verträgt|wohnt|liegt|steht|kennst|weißt|kannst|könntest|erinnerst|hast|wissen|könnten) \w+|sag mir|erinnere mich
    |(?:erklär|beschreib|zeig mir|gib mir|schreib mir) \w+|(?:\w+ ){1,3}(?:will|möchte|muss) wissen
    |\w+ (?:wer|wie|wo|wann|was) (?:heißt|heisst|hieß|hiess|ist|war|sind|waren)"""
LATER_QUESTION = r"""(?:wer|wen|wem|was|wo|woher|wohin|wann|warum|wieso|wie) (?:ist|sind|war|waren|hat|habe?|haben|kann
    |soll|muss|darf|will|heißt|wird|ruf|krieg\w*|bekomm\w*|komm\w*|mach\w*|geh\w*|nehm\w*)|(?:ist|sind|war|hab|habe|bin
    |kann|soll|muss|darf) (?:ich|wir|das|mein\w*)"""
SEEKING = r"(?:ich|wir) (?:suchen? (?:meine?n?|unsere?n?|den|die|das)|finden?\b.* nicht(?: mehr)?)"
NEEDING = r"(?:ich|wir) (?:brauchen?|haben? \w+ .*vergessen)"
# "trink ich noch Kaffee", but no clause: "dass ich Kaffee trinke"
VERB_FIRST = r"""(?!(?:als|dass|daß|das|weil|wenn|ob|und|aber|oder|bis|seit|damit|denn|sondern|obwohl|nachdem|sobald
    |solange|falls|sonst|dann|gestern|morgen|deshalb|darum|auch|schon|oft|jetzt|eigentlich|leider|nun|hier
    |dort)\b)[a-zäöü]+[bcdefghklmnrst] (?:ich|du|wir|er|ihr|es)"""
INVERSION = r"\w+(?:e|t|n|b|st|d|s|g) (?:ich|du|wir|er|ihr)"
QUESTION_END = r"wer|wem|wen|was|wo|woher|wohin|wann|warum|wieso|wie|wieviel|wie (?:viele?|lange|oft)"
STATEMENT_CLAUSE = r"""[,;:–—] ?(?:weil|da|denn|und|aber|sondern|ich|mein\w*|wir|unser\w*|er|sie|es|die|der|das|den
    |dem) |\b(?:weil|und ich|und mein\w*|und wir|aber ich|(?:merk|erinner)\w* .{0,12}dass) """
IGNORANCE = r"""(?:das |dies )?weiß ich (?:leider |auch |noch |gar )*nicht
    |ich weiß (?:das |es |leider |auch |noch |gar )*nicht|(?:ich (?:habe|kenne|finde|sehe)|(?:habe|kenne|finde
    |sehe) ich) .{0,60}?\bnichts\b|(?:bin|ist) (?:ich )?(?:mir )?(?:leider )?(?:nicht sicher|unbekannt|nicht bekannt)
    |kein\w* (?:ahnung|information\w*|angaben?|notiz\w*|eintrag|daten)|(?:du hast|sie haben
    |hast du)\b.{0,60}?\b(?:nicht|nichts|nie) (?:gesagt|erzählt|erwähnt|verraten)
    |kann ich (?:dir |ihnen )?(?:das )?(?:leider )?nicht sagen
    |ich kann (?:dir |ihnen )?(?:das |es )?(?:leider )?nicht (?:sagen|beantworten|wissen)"""
OFFER = r"""(?:kannst|könntest|magst|möchtest|würdest) du|(?:können|könnten|möchten) sie|bitte|wenn du|wenn sie|falls
    |sag mir|du (?:kannst|könntest)|sie können|ich (?:kann|werde|würde)|gerne"""
HOWEVER, APOLOGY = r"aber|jedoch|allerdings|obwohl", r"(?:es )?tut mir (?:sehr )?leid|entschuldig\w*|leider"
FIRST_PERSON = r"ich|mein\w*|mir|mich|wir|unser\w*|uns"

ME = r"ich|die Person|der (?:Nutzer|Benutzer|Anwender)"
I_AM = r"(?:ich|die Person|der (?:Nutzer|Benutzer|Anwender)) (?:bin|ist)"
IS, WE, TITLE = r"ist", r"wir", r"Frau |Herr "
MY, STILL = r"mein(?:e|en|em|er|es)?", r"jetzt|nun|derzeit|gerade|auch|doch|immer noch|gerne?|sehr"
NO_NAME = r"""Ich|Er|Sie|Es|Wir|Ihr|Du|Man|Das|Der|Die|Dies|Wer|Was|Jeder|Heute|Jetzt|Meine?|Eine?|Im|Am|Unsere?|Seine?
    |Ihre?|Alles|Dieses|Jenes|Etwas|Nichts|Als|Bis|Morgen"""
ARTICLE, INDEFINITE_ARTICLE = r"der|die|das|den|dem|des|eine?|einen|einem|einer", r"ein(?:e[nmrs]?)?"
SECOND_CLAUSE = r"und|oder|aber|weil|denn|sondern|während|wo"
CLAUSE_VERB = r"ist|sind|war|hat|habe|arbeite\w*|wohn\w*|leb\w*|mag|liebe|liebt|hass(?:e|t)"
NEXT_CLAUSE = r"und|aber|weil|der|die|das|wo|dass"
PREDICATES = """farbe:color sprache:language essen:food getränk:drink e_mail_adresse:email mailadresse:email
    emailadresse:email telefonnummer:phone handynummer:phone telefon:phone nummer:phone geburtstag:birthday alter:age
    beruf:works_as arbeitgeber:works_at adresse:address texteditor:editor praxis:practice büro:office spiele:plays
    spielt:plays unterrichte:teaches unterrichtet:teaches sammle:collects sammelt:collects trage:wears trägt:wears
    trinke:drinks trinkt:drinks esse:eats isst:eats leite:leads leitet:leads führe:runs führt:runs trainiere:trains
    trainiert:trains züchte:breeds züchtet:breeds studiere:studies studiert:studies"""
TRADE = r"(?:(?:er|ist|eur|ent|ant|ärzt)in|er|eur|ist|ent|ant)"  # how nouns of people end
ACTIVITY = "(?:spiel|trink|führ|trainier|studier)[et]|(?:unterricht|leit|zücht)et?|sammle|sammelt|trage|trägt|esse|isst"
# what may follow and is no object, and the end of a verb in two parts
NO_ACTIVITY = r"""(?:mit|für|gegen|in|im|an|am|auf|bei|nach|von|vor|zu|gern|viel|sich)\b
    |.* (?:weiter|aus|ab|ein|an|vor|auf|mit|durch)$"""
SCHOOL = r"\w*(?:schule|gymnasium|kindergarten|universität|akademie|verein|internat)|uni"
THINGS = r"blutgruppe|schuhgröße|zeitzone|muttersprache|größe"
PRONOUNS = "es das dies ihn sie dich mich uns euch etwas alles so wie was hier dort"
NO_PLACES = """stadt nähe haus wohnung dorf mitte land zentrum firma schule krankenhaus mir mich arbeit hause urlaub"""
NO_OBJECT, JOINING, NO_JOB = r"dass|zu", r"und|oder|mit", r"bei|für|und|oder|bisschen|wenig"
NATIONALITY = r"(?<=\w{4})(?:in|er|eur|ist|ent|ant)"
EVENT = r"\w*termin|besprechung|prüfung|flug"
NO_POSSESSION = rf"{EVENT}|frage|idee|problem"
SEARCH_WORDS = """lives_in=wohne,wohnt,wohnst,lebe,lebt,lebst,daheim,gezogen,umgezogen,ziehe,ziehen
    works_at=arbeite,arbeitet,arbeitgeber,firma,angefangen,begonnen works_as=beruf,arbeite
    studies_at=studiere,studium comes_from=herkunft,komme email=adresse phone=telefon,nummer,handy
    birthday=geburtstag born_on=geburtstag,geboren born_in=geboren,geburtsort age=alt,alter name=heiße
    married_to=verheiratet,frau,mann wife=frau,verheiratet husband=mann,verheiratet sister=schwester,geschwister
    brother=bruder,geschwister mother=mama,mutti,mutter,eltern father=papa,vati,vater,eltern
    grandmother=oma,großmutter grandfather=opa,großvater partner=frau,mann,freund,freundin girlfriend=freundin
    boyfriend=freund son=sohn,kind,kinder daughter=tochter,kind,kinder dog=hund,haustier cat=katze,haustier
    allergic_to=allergisch,allergie likes=mag drives=auto,fahre speaks=sprache answers_at=adresse"""
DATED_TRIPLES = r"""
lives_in place wohn|leb|gezogen|übersiedelt
    (?:(?:wohne|lebe) ich|(?:<WHO>|wir)<NOW> (?:wohn|leb)(?:e|t|en))<NOW> in <OBJECT>
    (?:bin ich|wir sind|<WHO_IS>)<NOW><WHEN>(?: von [^,]+?)? nach <OBJECT> (?:gezogen|umgezogen|übersiedelt)
works_at place arbeit|angefangen|begonnen
    (?:arbeite ich|<WHO> arbeite[nt]?)<NOW> (?:bei(?: der| dem)?|beim|für) <OBJECT>
    ich habe<NOW><WHEN> (?:bei(?: der| dem)?|beim|für) <OBJECT> (?:angefangen|begonnen)
works_as job arbeit|beruf
    <WHO> arbeite[nt]?<NOW> als <OBJECT>
    <WHO_IS><NOW> von Beruf <OBJECT>
weight value wieg
    <WHO> wieg(?:e|t)<NOW> <OBJECT>
age age 0|1|2|3|4|5|6|7|8|9
    <WHO_IS><NOW> (?P<object>\d{1,3})(?: Jahre alt)?
married_to given_name verheiratet
    <WHO_IS><NOW><WHEN> mit <OBJECT> verheiratet
studies_at place studi
    <WHO><NOW> studier(?:e|t)<NOW> (?:an|auf|in|am)(?: der| dem)? <OBJECT>
answers_at network_address antwortet|erreichbar
    (?P<subject><NAME>|d(?:er|ie|as) [\w-]+(?: [\w-]+)?)<NOW> (?:antwortet (?:auf|unter)|ist erreichbar unter) <OBJECT>
"""
PLANNED_TRIPLES = r"""
lives_in place zieh|übersied|wohn|leb
    (?:<WHO>|wir) (?:ziehen?|zieht|übersied\w+)(?: von [^,]+?)? nach <GOAL>(?: um)?
    (?:ziehen?|übersied\w+) (?:ich|wir)(?: von [^,]+?)? nach <GOAL>(?: um)?
    (?:<WHO>|wir) in <OBJECT> (?:wohnen|leben)
    (?:<WHO>|wir)(?: von [^,]+?)? nach <GOAL> (?:um)?(?:ziehen|übersiedeln)
works_at place start|fang|fäng|beginn|arbeit
    <WHO> (?:fange|fängt|beginne|beginnt|starte|startet) (?:bei(?: der| dem)?|beim|für) <GOAL>(?: an)?
    (?:fange|beginne|starte) ich (?:bei(?: der| dem)?|beim|für) <GOAL>(?: an)?
    <WHO> (?:bei(?: der| dem)?|beim|für) <OBJECT> (?:arbeiten|anfangen|beginnen)
"""
UNDATED_TRIPLES = r"""
name given_name name|heiße|nenn
    (?:<MY> name ist|ich heiße|nenn(?:e|t)? mich) <OBJECT>
email mail_address mail
    <MY> e-?mail(?:-?adresse)?(?: ist| lautet|:)? <OBJECT>
phone phone_number 0|1|2|3|4|5|6|7|8|9
    <MY> (?:telefon|handy)?[ -]?(?:nummer)?(?: ist| lautet|:)? <OBJECT>
birthday day geburtstag
    <MY> Geburtstag ist(?: am)? <OBJECT>
    <WHO> (?:habe|hat) am <OBJECT> Geburtstag
born_on day geboren
    <WHO> (?:bin|ist|wurde) am <OBJECT> geboren
born_in place geboren
    <WHO> (?:bin|ist|wurde) in <OBJECT> geboren
comes_from place aus
    <WHO> (?:komme|kommt|bin|ist) aus <OBJECT>
- given_name <KIN>
    (?P<object><NAME>) ist (?:<MY>|<WHOSE>) (?P<what><KIN>)
    <WHOSE> (?P<what><KIN>) (?:ist|heißt) <OBJECT>
    (?P<object><NAME>) ist (?:der|die|das) (?P<what><KIN>) von (?P<subject><NAME>)
- given_name heißt
    <MY> (?P<what>[\w-]+(?: [\w-]+)?) heißt <OBJECT>
place_of_ place  in
    <MY> (?P<what>(?!(?:<KIN>|<NO_POSSESSION>)\b)[\w-]+) (?:ist|liegt) in <OBJECT>
    <WHO> (?:habe|hat) (?:<MY>|seine?n?|ihre?n?) (?P<what>[\w-]+) in <OBJECT>
- person <KIN>
    <MY> (?P<what><KIN>) ist<NOW> <OBJECT>
prefers. any nutze|verwende|nehme|liebling|bevorzugte
    (?:<ME> |(?=\w+ ich ))(?:be)?(?:nutze|verwende|nehme)(?: ich)?<NOW> <OBJECT> als (?:meinen? )?(?P<what>[\w-]{2,30})
    (?:<MY>|<WHOSE>) (?:lieblings-?|bevorzugte[rs]?) ?(?P<what>[\w -]{2,30}?) (?:ist|sind) <OBJECT>
allergic_to any allerg
    <WHO_IS> allergisch (?:gegen|auf) <OBJECT>
    <WHO> (?:habe|hat) eine Allergie gegen <OBJECT>
likes likeable mag|lieb|leiden|ausstehen
    <WHO><NOW> (?:mag|liebe|liebt)<NOW> <GOAL>(?: sehr)?
    <WHO><NOW> kann <OBJECT> (?:gut )?(?:leiden|ausstehen)
dislikes likeable hass|verabscheu
    <WHO><NOW> (?:hasse|hasst|verabscheue|verabscheut) <OBJECT>
owns likeable besitz
    <WHO><NOW> (?:besitze|besitzt) <OBJECT>
    (?:d(?:er|ie|as)|<MY>) <GOAL> gehört (?:mir|<NAMED>(?P<subject><NAME>))
uses activity nutz|verwend
    (?:<WHO>|wir)<NOW> (?:(?:be)?nutz(?:e|t|en)|verwende[nt]?)<NOW> <OBJECT>
goes_to school geh|besuch
    <WHO><NOW> (?:(?:gehe|geht) (?:in|auf)|besuch(?:e|t)) <OBJECT>
- activity spiel|unterricht|samm|trag|träg|trink|esse|isst|leite|führ|trainier|zücht|studier
    <WHO><NOW> (?P<what><ACTIVITY>)<NOW> (?!<NO_ACTIVITY>)<OBJECT>
- value nummer|adresse|telefon|handy|geburtstag|mail|auto
    <WHOSE> (?P<what>(?:telefon|handy)(?:nummer)?|(?:e-?mail-?)?adresse|e-?mail|geburtstag|auto) (?:ist|lautet) <OBJECT>
is_a sort  eine? | ein |er|eur|ist|ent|ant|erin|tin
    <WHO_IS><NOW> eine? <OBJECT>
    (?:ich bin|<NAMED>(?P<subject><NAME>) ist) (?P<object>(?-i:[A-ZÄÖÜ])\w{3,}<TRADE>)
- any  von
    <WHO_IS> (?:der|die|das) (?P<what>[\w-]+) von <OBJECT>
drives likeable fahr|fähr
    <WHO><NOW> (?:fahre|fährt)<NOW> eine?n? <OBJECT>
speaks any sprech|sprich
    <WHO><NOW> (?:spreche|spricht) (?P<object>(?-i:[A-ZÄÖÜ])\w+)
has possession habe|hat
    <WHO><NOW> (?:habe|hat) (?P<object>(?:eine?n?|zwei|drei|vier|fünf|\d+) .+)
- tool  ist| lautet|:
    <MY> (?P<what><THINGS>)(?: ist| lautet|:) <OBJECT>
- value  ist| lautet|:
    <MY> (?P<what>(?!(?:<KIN>|name)\b)[\w-]+(?: [\w-]+){0,2}?)(?: ist| lautet|:) <OBJECT>
"""

_OPENS = r"^(?:(?:ok(?:ay)?|alles klar|gut|super|gerne?|danke|verstanden|erledigt)\W+)*"
_I_HAVE, _WAS = r"\b(?:ich habe?|habe? ich)\b[^.!?]{0,60}?", r"\b(?:wurden?|ist|sind)\b[^.!?]{0,60}?"
_CREATED = r"(?:gespeichert|erstellt|angelegt|gesetzt|eingestellt|eingerichtet|gestellt|hinzugefügt)\b"
_ADDED = r"(?:hinzugefügt|aufgenommen|eingetragen|geschrieben|gespeichert|festgehalten)\b"
PROMISES = rf"""\b(?:ich merke?|merke? ich)\b.{{0,20}}?\bmir\b
    |\b(?:ich (?:notiere|speichere|vermerke|behalte)|(?:notiere|speichere|vermerke|behalte) ich)\b.{{0,20}}?\b(?:mir
        |das|es|dies|im (?:kopf|hinterkopf|gedächtnis))\b
    |\b(?:ich werde|werde ich|ich werd)\b.{{0,80}}?\b(?:merken|notieren|speichern|vermerken|nicht vergessen
        |nie vergessen|(?:im|in) (?:hinterkopf|kopf|gedächtnis|erinnerung) behalten|daran denken)
    |\b(?:ich habe?|habe? ich|hab's)\b.{{0,80}}?\b(?:gespeichert|notiert|gemerkt|vermerkt|festgehalten|aufgeschrieben)\b
    |{_OPENS}(?:ist |schon |hiermit )?(?:notiert|gespeichert|gemerkt|vermerkt)\b
    |\b(?:wurden?|ist|sind)\b.{{0,20}}? (?:gespeichert|notiert|gemerkt|vermerkt)\b
    |(?:{_I_HAVE}|{_WAS}) (?:(?:in|zu) )?(?:dein|mein)en? (?:notizen|erinnerungen|gedächtnis) {_ADDED}
    |{_OPENS}(?:zu|in) (?:deinen?|meinen?|den) notizen {_ADDED}
    |(?:{_OPENS}|{_I_HAVE} (?:eine|die|deine) )notiz\b[^.!?]{{0,60}}? {_CREATED}"""
REMINDER_CLAIMS = rf"""\bich erinnere dich\b(?! (?:nicht|an nichts))
    |\b(?:ich werde|werde ich)\b[^.!?]{{0,80}}? erinnern\b
    |\b(?:deine|die|eine?) (?:erinnerung|wecker)\b[^.!?]{{0,60}}? (?:ist|wurde)\b[^.!?]{{0,60}}? {_CREATED}
    |{_I_HAVE} (?:erinnerung|wecker)\b[^.!?]{{0,60}}? {_CREATED}
    |{_I_HAVE} in deine[nr]? (?:kalender|aufgaben(?:liste)?|erinnerungen) {_ADDED}
    |{_OPENS}erinnerung[^.!?]{{0,40}}? {_CREATED}"""
FORGETTING_CLAIMS = rf"""{_I_HAVE} alles\b[^.!?]{{0,60}}? (?:vergessen|gelöscht|entfernt)\b
    |(?:{_I_HAVE}|{_WAS}) aus (?:mein|dein|d)e[mn] (?:gedächtnis|notizen|erinnerungen) (?:gelöscht|entfernt)\b
    |\b(?:ich habe? (?:es|das|dies|deine \w+)|das habe? ich)(?: jetzt| nun)? gelöscht\b
    |\b(?:ich werde|werde ich) (?:das|es|alles)\b[^.!?]{{0,40}}? (?:vergessen|löschen)\b
    |\b(?:ich vergesse|vergesse ich) (?:das|es|alles|jetzt|nun)\b
    |\balles\b[^.!?]{{0,60}}? {_WAS} (?:vergessen|gelöscht|entfernt)\b
    |{_OPENS}(?:ist |schon |hiermit )?(?:vergessen|gelöscht)\W*$"""
PROMISE_WORDS = r"""merk|notier|speicher|behalt|vergess|denken|festgehalten|aufgeschrieben|notiz|erinner|gedächtnis
    |wecker|kalender|aufgabe|lösch|entfern"""
NOT_FORGET = r"(?:nicht|nie) vergessen"
NO_PROMISE = r"""nicht|kein\w*|nichts|nie|wenn du|wenn sie|falls|möchtest du|soll ich
    |dieses? (?:gespräch|sitzung|unterhaltung)|diesem? gespräch|dieser (?:sitzung|unterhaltung)"""

SECRET_LABELS, NUMBER_LABELS = "kennwort", "svnr|sozialv|sv-n|steuer|ausweis|führers"
SECRET_IS, SECRET_OF = r"ist|war|lautet|lautete|heißt", r"von|vom|für|zu|zum|zur|bei|im|am"
PASSWORD, SEED_PHRASE = r"passwort|kennwort", r"wiederherstellungs[ -]?(?:phrase|words)"
PIN_NUMBER, ORDER_NUMBER = r"nummer|nr\.?", r"bestell\w*|auftrag\w*|rechnung\w*|sendung\w*|kunden\w*"
ID_NUMBER = r"""svnr|sv-?(?:nummer|nr\.?)|sozialversicherungs(?:nummer|nr\.?)|steuer-?(?:id|nummer
    |identifikationsnummer|identnummer|idnr\.?)|(?:reise)?pass[ -]?(?:nummer|nr\.?)|(?:personal)?ausweis(?:nummer
    |nr\.?)|führerschein(?:nummer|nr\.?)"""
NO_PASSWORD = """nicht falsch richtig das der die dem den ein eine einen im zu sehr immer noch nie sicher unsicher lang
    kurz schwach stark abgelaufen weg leer gleich anders neu alt bekannt unbekannt hier dort nur jetzt wieder gut
    schlecht einfach mein dein sein ihr unser kein keine notwendig nötig"""
NO_PASSWORD_ENDING = r"(?<=[a-zäöü])(?:lich|bar|iert|ert)$|(?<![a-zäöü])(?>[a-zäöü]*?ge)[a-zäöü]{2,}+(?<=t)$"

SELF_NAMES = "ich"
SELF_INTRODUCTION = r"ich bin|mein name|ich wurde|ich heiße"
DURABLE = r"ich|mein\w*|wir|unser\w*|entschied\w*|lieber|immer|nie|heiße?|wohne|arbeite"
WEAK_WORDS = "machen mache brauche neu neue zeit tag heute woche hilf hilfe schreib schreibe gib zeig mach"
IGNORE, RULES = r"ignoriere?|vergiss|missachte", r"anweisung\w*|regeln?|vorgaben?"
WITHOUT, LACKING = r"nie|nicht|ohne", r"ohne"
TELLING, SOMEBODY, PERMISSION = r"fragen?", r"nutzer\w*|jemand\w*", r"nachfrage\w*|zustimmung|erlaubnis"
APPROVE, PROPOSED, SECRETLY = r"bestätige|genehmige", r"vorschl\w+", r"heimlich"
