"""The English of the rules: regular expressions in lower case, matched without regard to case."""

TIME_WORDS = (
    r"yesterday|today|tonight|tomorrow|last|next|ago|weeks?|weekend|months?|years?|since|recently|soon|morning"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october"
    r"|november|december|\d+(?:st|nd|rd|th)?"
)
WHEN_QUESTION = r"when|how long|(?:in )?(?:what|which) (?:year|month|date|day)"
POSSESSIVE = r"(?:my|our)"  # in front of a relation to the person: "my sister"
FAMILY_NAME = r"mum|mummy|mom|dad|daddy|grandma|granny|grandpa"  # relations that are said like a name
COMMON_NAME = (  # names that are common words too
    r"angel|april|art|august|bill|brook|candy|carol|chance|chase|cliff|crystal|daisy|dawn|dean|don|drew|earl|faith"
    r"|frank|gene|ginger|grace|grant|guy|harmony|heath|holly|hope|iris|ivy|jack|jade|jay|jean|john|joy|june|king|lance"
    r"|lily|mark|max|may|melody|miles|nick|olive|page|pat|pearl|penny|ray|rich|rob|robin|rose|ruby|sandy|skip|sky"
    r"|star|sue|summer|victor|violet|will"
)
NO_NAME_AFTER = r"the|an?|my|your|this|that|last|next|in|since|until|till|by"  # a word after one of these is no name
EVERYDAY = (
    r"(?:liv|mov|us|mak|tak|giv|com|hav|lov|lik|writ|driv|clos|chang|invit|believ|leav|arriv|decid|not|stor)(?:e|es|ed|ing)"
    r"|(?:go|want|need|call|name|work|play|talk|ask|look|think|seem|help|start|stop|open|turn|show|read|walk|learn|wait"
    r"|visit|drink|cook|eat|sleep|feel|meet|find|bring|keep|stay|see|say|hear|buy|pay|send|sell|speak|mean|hold|put|get"
    r"|set|run|add|mention|remember|forget|remind|save|answer|question|prefer|enjoy|hate|happen|begin|hope|plan|try|own"
    r"|watch|travel|listen|check|thank)(?:s|es|ed|ing|ning|ting|ping)?"
    r"|went|gone|came|made|took|taken|gave|given|said|told|thought|felt|met|found|brought|kept|stayed|saw|seen|heard"
    r"|bought|paid|sent|sold|spoke|meant|held|got|gotten|ran|ate|drank|slept|knew|known|left|began|wrote|written|drove"
    r"|wanna|gonna|tried|tries|put|used|better|best|good|bad|big|small|little|great|nice|new|old|young|long|short|high|low"
    r"|right|wrong|true|false|sure|fine|okay|yes|hello|thanks|really|actually|maybe|perhaps|always|never|often|sometimes"
    r"|usually|already|still|just|only|even|much|many|lots?|some|any|every|each|other|another|first|second|third|next"
    r"|last|one|two|three|four|five|six|seven|eight|nine|ten|today|tomorrow|yesterday|tonight|now|then|later|soon|ago"
    r"|since|until|until|morning|evening|afternoon|night|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february"
    r"|march|april|may|june|july|august|september|october|november|december"
    r"|(?:time|day|week|month|year|hour|minute|thing|way|people|person|man|woman|men|women|child|children|kid|place|home"
    r"|house|city|town|country|street|room|door|car|job|office|friend|family|mother|father|mum|mom|dad|brother|sister"
    r"|wife|husband|son|daughter|partner|boss|colleague|doctor|food|water|coffee|tea|money|book|word|text|note|file"
    r"|message|fact|list|number|address|email|phone|birthday|favou?rite|user|assistant)s?"
    r"|here|there|somewhere|everything|something|anything|nothing|someone|somebody|everyone|everybody|anyone|nobody"
)

# Dates: the names in the order of the calendar, and the words around a date that say how it counts.
MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
SEASONS = ("spring", "summer", "autumn|fall", "winter")  # of the northern half of the world
ORDINAL = r"(?:st|nd|rd|th)?(?: of)?"
PART_OF_DAY = r"(?:the )?(?:week|weekend|morning|afternoon|evening|night) of"
BEFORE_DATE = r"the(?: year)?"
EARLY = r"early|(?:the )?(?:beginning|start) of"
MIDDLE = r"mid|(?:the )?middle of"
LATE = r"late|(?:the )?end of"
SINCE = r"(?:ever )?since"
FROM = r"from|as of|starting(?: from| in| on)?|beginning(?: in| on)?|between"
TO = r"to|until|till|through|and|[-–]"
ONWARDS = r"on|onwards?|forward"
UNTIL = r"until|till|up to|through|(?:which |that )?(?:ends|expires) (?:in|on)"
AT = r"in|on|during|last|next|this|by"
NOW = r"now|currently|nowadays|these days|at the moment"
LATELY = r"again|today|yesterday|recently|last (?:week|month|year)"
CHANGE = (  # the person begins something: the date in the sentence is its beginning
    r"\b(?:i|we)(?:['’](?:ve|m|ll|re))?(?: (?:have|will|am|are|be|just|also|then|finally|officially|going to))*"
    r" (?:mov\w+|relocat\w+|start\w*|began|begin\w*|join\w*|became|becom\w+|switch\w*|retir\w+|married|adopt\w*)\b"
)
FUTURE = (
    r"\b(?:will|next|soon|going to|(?:am|is|are) \w+ing|moves?|starts?|begins?|joins?|becomes?|switch|retires?)\b"
    r"|['’](?:ll|m \w+ing)\b"
)
FUTURE_AUXILIARY = r"['’]ll\b| will\b|(?: am| is| are|['’]m|['’]s|['’]re) going to\b"
DURATION = r"for(?: the (?:last|past))?"
UNITS = ("days?", "weeks?", "months?", "years?")
PERFECT = r"(?:have|has|['’]ve|['’]s) (?:\w+ )?been\b|(?:have|has|['’]ve|['’]s) \w+ed\b"
PAST = r"\b(?:was|were|had|did|lived|worked|used to|stayed|studied|owned|drove)\b"
