"""The English of the rules: regular expressions in lower case, matched without regard to case."""

MONTHS = "january february march april may june july august september october november december"
DAYS, SHORT_DAYS = "monday tuesday wednesday thursday friday saturday sunday", "mon tues? wed thu(?:rs?)? fri sat sun"
_MONTH, _DAY = MONTHS.replace(" ", "|"), f"(?:{DAYS.replace(' ', '|')})"
STOP_WORDS = """a about above after again against all am an and any are aren as at be because been before being below
    between both but by can could couldn did didn do does doesn doing don down during each few for from further had hadn
    has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself just me
    more most my myself no nor not now of off on once only or other our ours ourselves out over own re same she should
    so some such than that the their theirs them themselves then there these they this those through to too under until
    up us ve very was wasn we were weren what when where which while who whom why will with won would you your yours
    yourself s t d ll m let tell know please ever also may might must shall"""
TIME_WORDS = rf"""yesterday|today|tonight|tomorrow|last|next|ago|weeks?|weekend|months?|years?|since|recently|soon
    |morning|{_DAY}|{_MONTH}|\d+(?:st|nd|rd|th)?"""
WHEN_QUESTION = r"when|how long|(?:in )?(?:what|which) (?:year|month|date|day)"
WHERE_QUESTION = r"where|(?:what|which) (?:countr(?:y|ies)|cit(?:y|ies)|states?|places?|areas?|towns?|streets?)"
PLACE = r"(?:in|at|to|from)\s+(?:the\s+)?[A-ZÀ-Þ][a-zß-ɏ]+"
NUMBER_QUESTION = r"how (?:many|much|old|long|often|far|big|tall|high|heavy)|what (?:percentage|number|age|price)"
NUMERALS = r"(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|once|twice|dozen|hundred|thousand|couple)\b"
ADVICE_QUESTION = r"""(?:should|shall|can|could|would) (?:i|we)|(?:can|could|would|will) you (?!(?:help me )?(?:tell
    |remind|remember|recall|find))|how do (?:i|we)|do you (?:think|suggest)|help me (?!remember|recall|find)|(?:any
    |some|have) (?:\w+ )?(?:recommendations?|suggestions?|advice|tips|ideas?)|you(?:['’]d| would)? (?:recommend
    |suggest)|(?:suggest|recommend|plan) (?:me|us|an?|some)|what (?:are|is|would be) (?:some|an? good|the best)
    |(?:i['’]m|i am|we['’]re|we are) (?:looking|planning|thinking|hoping|interested)"""
WISH = r"""\b(?:(?:i|we)(?:['’]d| would)? (?:\w+ )?prefer|prefers|my preferences?|(?:i['’]d|i would) rather
    |from now on)\b|(?:\A|[.!?]\s+)(?:please )?(?:always|never) (?!mind\b|been\b|had\b|\w+[^\We]ed\b)\w"""
# What always counts of a statement about the person: how to answer, what they must not or cannot have, what they like.
_MANNER = r"(?:short|brief|concise|detailed|long|plain|simple|direct|formal|informal|honest|precise|friendly|polite)"
_ANSWERS = r"(?:answers?|repl(?:y|ies)|responses?|explanations?)"
ANSWER_WISH = rf"""\A(?:please|always|never|from now on|in (?:the )?future|do not|don['’]t|no|only|just|you (?:should
    |must|may)|[\s,:])*+(?:(?:answer|reply|respond)\b|(?:speak|talk|write)(?: to me| with me)?(?: only)? in [a-z]
    |(?:call|address) me (?!at\b|on\b|when|if\b|back\b|later|tomorrow|today|by\b|in\b|from\b)|explain (?:\w+ )?(?:simply
    |like\b|as if|in (?:simple|plain))|be (?:very |more )?{_MANNER}\b|emojis?\b|bullet points?\b|small talk\b|(?:use
    |include|add|avoid|skip|put|give|show|format|keep|prefer|stick to|write|convert|cite|summari[sz]e|translate|end
    |begin|start|stop)\b[^.!?]{{0,40}}\b(?:units?|metric|imperial|celsius|fahrenheit|emojis?|tables?|bullet points?
    |headings?|markdown|sentences|{_ANSWERS}|jargon|slang|sources|citations|small talk|disclaimers?|filler))|\b(?:i
    |we)(?: (?:always|would|do))*(?:['’]d)? (?:want|wish|prefer|like|need|expect
    |appreciate)(?: for)? (?:you to (?:answer|reply|respond|explain|write|speak|use|be|call|keep)\b|(?:(?:your|all
    |to get|to have|an?|the|very|more|only) ){{0,3}}(?:{_MANNER}(?: and \w+)? {_ANSWERS}\b|your {_ANSWERS}\b)
    |(?:everything|all) in [a-z])|\brather (?:have|get) {_MANNER} {_ANSWERS}\b
    |\A(?:your )?(?:very )?{_MANNER} (?:and \w+ )?{_ANSWERS}\b|\A{_ANSWERS} (?:in|should|must)\b|\b{_ANSWERS} (?:should
    |must) be\b|\A(?:metric|imperial|si) units?\b|\b(?:want|prefer)s?(?: to use)? (?:metric|imperial|si)(?: units?)?\b
    |\bi (?:hate|dislike|do(?: not|n['’]t) (?:like|want)) emojis?\b"""
ANSWERING = r"(?:please\s+)?(?:answer|reply|respond)"  # begins what is to be remembered, and is nothing to do
LIMIT = r"""allerg\w*|intoleran\w*|sensitiv\w*|vegetarian\w*|vegan\w*|pescatarian|kosher|halal|gluten|lactose|diabet\w*
    |celiac|coeliac|asthma\w*|migraines?|pregnan\w*|disab\w*|wheelchair|blind|deaf|dyslexi\w*|injur\w*|medication
    |medical|health|pain|anxi(?:ety|ous)|phobi\w*|afraid|fears?|scared|sober|motion sickness|claustrophob\w*
    |(?:can(?:not|['’]t| not)|must not|mustn['’]t|may not|not allowed to|unable to|never|do(?: not|n['’]t)|does(?: not
    |n['’]t)) (?:\w+ )?(?:eat|drink|fly|drive|swim|smoke|tolerate|take|have|use|own|want|afford|buy|wear|watch)
    |refus\w+|strict(?:ly)?|diet|budget|at most|no more than|religio\w*"""
LIKING = r"""prefer\w*|likes?|liked|loves?|enjoy\w*|adores?|favou?rit\w*|favou?rs?|fond of|fan of|passionate|keen on
    |interest(?:ed|s)?|dislik\w*|hat(?:e|es|ed)|despis\w*|detest\w*|loath\w*|aversion|avoid\w*|can(?:not
    |['’]?t) (?:stand|bear)|not a fan|uncomfortable|comfortable with|steer clear|struggl\w*|find \w+ (?:boring|difficult
    |hard|annoying|ineffective|overwhelming)|rather|usually|always|never|only|every (?:day|morning|evening|week)|value
    |believe|committed|opposed|against|skeptical|sceptical|distrust\w*|trust|require|insist\w*"""
# words of a question that need not be in its answer
ASKING = r"""w(?:here|hat|ho|hen|ats?|hats|ich|her)s?|atm|now|days?|someone|anyone|remember|again|currently|months?
    |years?|names?|named|kinds?|sorts?|types?|towns?|city|cities|date|times?|place|number|price|which|tell|remind|know
    |find|get|got|put|deadlines?|many|much|long|often|today|since|until|till|ask(?:ed)?"""
PAST_QUESTION = r"did|was|were|had|used to|before|formerly|previous(?:ly)?|back then"
FUTURE_QUESTION = r"will|shall|going to|next|soon|plan(?:s|ned|ning)?|future|upcoming"
_SAID = r"""(?:recommended|suggested|advised|proposed|explained|described|mentioned|listed|provided|outlined|offered
    |written|wrote|given|gave|told|said)"""
_YOU_SAID = rf"(?:did|were) you|(?:have|had) you (?:ever |already )?{_SAID}|you (?:have |had |ever |already )*{_SAID}"
# What the assistant has said: "what would you suggest?" asks for something new.
ABOUT_REPLIES = rf"{_YOU_SAID}|your (?:advice|suggest|recommend|explan|answer|repl)\w*"
WORKED_OUT_QUESTION = r"""how (?:did|had) (?:i|we)|(?:what|which) (?:\w+ )?(?:steps?|approach(?:es)?|plans?|strateg(?:y
    |ies)|methods?|process(?:es)?|way|routine|schedule|structure|order|sequence|system|techniques?|tactics?|framework
    |timeline|workflow|reasoning) (?:did|had) (?:i|we)"""  # how something was done or planned
RECALLING = rf"""do you (?:still )?(?:remember|recall)|remind me|we discussed|(?:i|we) (?:told|asked) you
    |(?:did|do|have|had) (?:i|we) (?:ever |already )?(?:tell|told|say|said|(?:mention|ask|discuss|report)(?:ed)?)\b
    |(?:what|anything|everything) (?:do )?you know about (?:me|us)\b|{_YOU_SAID}|(?:i|we) (?:forgot|forget|(?:can['’]?t
    |cannot|don['’]?t) (?:remember|recall|find))"""  # asks for what is remembered, whatever it is about
# asks for something new: a task, advice, or a way to do something
NEW_WANTED = r"""(?:can|could|would|will|won['’]t) you (?!(?:please |maybe |also )?(?:tell me|remind|remember|recall
    |look up)\b)|you (?:recommend|suggest|advise|think)|you['’]d|help me (?!remember|recall|find (?:my|our)\b)
    |what(?:['’]s| is| are| would be) (?:your|an?|any|(?:the )?(?:best|most|good|common|easiest|fastest|cheapest))\b
    |what are some (?!\w+ (?-i:[A-Z]))|what to \w|what (?:\w+ ){0,4}(?:can|could) (?:i|we)\b
    |any (?:suggestions|ideas|tips|recommendations|advice|good)|are there (?:any|some)|is there (?:an?|any)
    |how (?:(?:can|could|should|would|might|do) (?:i|we|you|one)\b(?! (?:usually|normally|know))|to )
    |(?<!deadline )(?<!time )(?:should|shall) (?:i|we)|(?:can|could|may|must) (?:i|we) (?!find)
    |where can (?:i|we) (?:buy|get|eat|go|see|learn)\b|\w+er than\b|\A\W*(?:please )?(?:explain|describe|write|draft
    |translate|(?:show|give|tell) me (?:an?|some|how to|something|\d+)) """
_PERSON = r"(?-i:[A-ZÀ-Þ][a-zß-ɏ][\w-]{0,30})"
_NO_PLACE = r"(?<!\b(?:in|at|to|of|on|an))(?<!\b(?:the|for))(?<!\b(?:from|near|last|next|into))"  # behind such a word
# asks about the person or somebody whom they know
ABOUT_PEOPLE = rf"""\b(?:i|my|mine|we|our|ours)\b|\b(?:his|her) \w|(?:does|did|do|is|was|has|had|will|would|can|might
    |could) (?:he|she)\b|\b(?:do|does|did|has|have|had|will|would|might|could|should|by|both
    |according to) {_PERSON}(?! (?:work|mean|cost|start|begin|end|happen)\b)|\b{_PERSON}['’]s? \w|\b(?:is|are|was
    |were) {_PERSON} (?:and {_PERSON} )?(?:\w+ing\b|in\b|excited|a |on\b|\w+ (?:to|about|by)\b)|(?:how old (?:is|was)
    |who(?:['’]s| is)|where(?:['’]s| is| was)) {_PERSON}\b|\b(?:who|what|which|when|where|why|how|does|did|is|are|has
    |have)\b.{{0,200}}?\b\w+{_NO_PLACE} {_PERSON} \w|\b(?:does|did) \w+ (?:say|tell|live|like|love|hate|want|prefer
    |enjoy|visit|study|feel|buy|own|play|drive|attend|ask|invite|meet|celebrate|get|go)\b|what was (?:discussed|said
    |agreed|decided|planned)|this project|(?:appointment|deadline|meeting|submission)\b"""
POSSESSIVE = r"(?:my|our)"  # in front of a relation to the person: "my sister"
# Relations to the person; behind a colon stands the predicate, where it is another word.
KIN = """wife husband spouse partner girlfriend boyfriend fiancé fiancée sister brother mother father mum mom dad son
    daughter uncle aunt cousin niece nephew grandmother grandfather grandma grandpa friend flatmate roommate neighbour
    neighbor boss manager colleague assistant landlord doctor dentist therapist lawyer teacher dog cat horse rabbit
    mother-in-law:mother_in_law father-in-law:father_in_law sister-in-law:sister_in_law brother-in-law:brother_in_law"""
FAMILY_NAME = r"mum|mummy|mom|dad|daddy|grandma|granny|grandpa"  # relations that are said like a name
COMMON_NAME = r"""angel|april|art|august|bill|brook|candy|carol|chance|chase|cliff|crystal|daisy|dawn|dean|don|drew
    |earl|faith|frank|gene|ginger|grace|grant|guy|harmony|heath|holly|hope|iris|ivy|jack|jade|jay|jean|john|joy|june
    |king|lance|lily|mark|max|may|melody|miles|nick|olive|page|pat|pearl|penny|ray|rich|rob|robin|rose|ruby|sandy|skip
    |sky|star|sue|summer|victor|violet|will"""  # names that are common words too
NO_NAME_AFTER = r"the|an?|my|your|this|that|last|next|in|since|until|till|by"  # a word after one of these is no name
EVERYDAY = rf"""(?:liv|mov|us|mak|tak|giv|com|hav|lov|lik|writ|driv|clos|chang|invit|believ|leav|arriv|decid|not
    |stor)(?:e|es|ed|ing)|(?:go|want|need|call|name|work|play|talk|ask|look|think|seem|help|start|stop|open|turn|show
    |read|walk|learn|wait|visit|drink|cook|eat|sleep|feel|meet|find|bring|keep|stay|see|say|hear|buy|pay|send|sell|speak
    |mean|hold|put|get|set|run|add|mention|remember|forget|remind|save|answer|question|prefer|enjoy|hate|happen|begin
    |hope|plan|try|own|watch|travel|listen|check|thank)(?:s|es|ed|ing|ning|ting|ping)?|went|gone|came|made|took|taken
    |gave|given|said|told|thought|felt|met|found|brought|kept|saw|seen|heard|bought|paid|sent|sold|spoke|meant|held|got
    |gotten|ran|ate|drank|slept|knew|known|left|began|wrote|written|drove|wanna|gonna|tried|tries|better|best|good|bad
    |big|small|little|great|nice|new|old|young|long|short|high|low|right|wrong|true|false|sure|fine|okay|yes|hello
    |really|actually|maybe|perhaps|always|never|often|sometimes|usually|already|still|even|much|many|lots?|every|another
    |first|second|third|next|last|one|two|three|four|five|six|seven|eight|nine|ten|today|tomorrow|yesterday|tonight
    |later|soon|ago|since|morning|evening|afternoon|night|{_DAY}s?|{_MONTH}|(?:time|day|week|month|year|hour|minute
    |thing|way|people|person|man|woman|men|women|child|children|kid|place|home|house|city|town|country|street|room|door
    |car|job|office|friend|family|mother|father|mum|mom|dad|brother|sister|wife|husband|son|daughter|partner|boss
    |colleague|doctor|food|water|coffee|tea|money|book|word|text|note|file|message|fact|list|number|address|email|phone
    |birthday|favou?rite|user|assistant)s?|somewhere|everything|something|anything|nothing|someone|somebody|everyone
    |everybody|anyone|nobody"""

# Dates: words in the order of the calendar, and the words around a date that say how it counts.
TIME_UNITS = "seconds?|secs? minutes?|mins?|m hours?|hrs?|h days? weeks? months? years?"
HOW_OFTEN, NTH = "hourly daily weekly monthly yearly|annually", "first|1st second|2nd third|3rd fourth|4th last"
_TO_TWELVE = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
NUMBERS = {"twenty": 20, **{word: number for number, word in enumerate(_TO_TWELVE, 1)}}
INDEFINITE, ORDINAL = "a|an", r"(?:st|nd|rd|th)?(?: of)?"
SEASONS = "spring summer autumn|fall winter"  # of the northern half of the world
PART_OF_DAY = r"(?:the )?(?:week|weekend|morning|afternoon|evening|night) of"
BEFORE_DATE, AT = r"the(?: year)?", r"in|on|during|last|next|this|by"
EARLY, MIDDLE, LATE = r"early|(?:the )?(?:beginning|start) of", r"mid|(?:the )?middle of", r"late|(?:the )?end of"
SINCE, UNTIL = r"(?:ever )?since", r"until|till|up to|through|(?:which |that )?(?:ends|expires) (?:in|on)"
FROM = r"from|as of|starting(?: from| in| on)?|beginning(?: in| on)?|between"
TO, ONWARDS = r"to|until|till|through|and|[-–]", r"on|onwards?|forward"
NOW = r"(?:right )?now|currently|nowadays|these days|at the moment"
LATELY = r"again|today|yesterday|recently|last (?:week|month|year)"
PAST_TIME = rf"""(?:the )?day before yesterday|yesterday|earlier today|last (?:night|week|weekend|month|year|{_DAY})
    |(?:\d{{1,3}}|an?|one|two|three|four|five|six|a few|several) (?:minute|hour|day|week|month|year)s? ago"""
# in front of a past time: it says what something is about, and not when to do it
TIME_AS_TOPIC = r"""\b(?:about|from|of|since|for|like|than|before|after|with)(?:\s+the)?$
    |\b(?:what|which|who|that|how|why|where|when|whether|if|as|i|we|you|he|she|they)\b"""
CHANGE = r"""\b(?:i|we)(?:['’](?:ve|m|ll|re))?(?: (?:have|will|am|are|be|just|also|then|finally|officially
    |going to))* (?:mov\w+|relocat\w+|start\w*|began|begin\w*|join\w*|became|becom\w+|switch\w*|retir\w+|married
    |adopt\w*)\b"""  # the person begins something: the date in the sentence is its beginning
FUTURE = r"""\b(?:will|next|soon|going to|(?:am|is|are) \w+ing|moves?|starts?|begins?|joins?|becomes?|switch
    |retires?)\b|['’](?:ll|m \w+ing)\b"""
FUTURE_AUXILIARY = r"['’]ll\b| (?-i:will)\b|(?: am| is| are|['’]m|['’]s|['’]re) going to\b"
DURATION = r"for(?: the (?:last|past))?"
PERFECT = r"(?:have|has|['’]ve|['’]s) (?:\w+ )?been\b|(?:have|has|['’]ve|['’]s) \w+ed\b"
PAST = r"\b(?:was|were|had|did|lived|worked|used to|stayed|studied|owned|drove)\b"
PAST_TENSE = r"""\b(?:\w{2,}ed|was|were|did|had|made|wrote|built|ran|read|took|got|went|learnt|ate|became|began|bought
    |broke|brought|came|drove|fell|felt|flew|found|gave|held|kept|left|lost|met|paid|rode|saw|sent|slept|sold
    |spent|spoke|stole|swam|taught|won)\b"""  # of any verb
NOT_PAST = r"(?:need|bed|hundred|fred|ted|(?:am|is|are|be|gets?|i['’]m|\w+['’](?:s|re)) (?:\w+ )?\w+ed)"
OF_WHICH_DAY = r"after|before|of"
# beside a weekday: perhaps each such day is meant, or one that other words say
NOT_ONCE = r"""always|usually|normally|mostly|often|sometimes|never|regularly|every|each|weekly|daily|if|when(?:ever)?
    |open|opens|closed|closes|works?|trains?|teach(?:es)?|plays?|swims?|lessons?|class(?:es)?|courses?|practice
    |training|choir|yoga|market|days? off|(?:morning|afternoon|evening|night)s|weeks?|months?|today|tonight|tomorrow
    |yesterday|ago|said|told|says|quit"""

DATE_HINTS = r"quarter|day|night|tomorrow|week|month|year|morning|evening|afternoon|last|next"

# Relative dates in a statement, with names in angles for those of a day, a month and so on.
_BEFORE = r"(?:(?P<before>since|until|till|by|from|before|after|of|for) )?(?:(?:on|in|during) )?(?:the )?"
_WAY = r"(?:(?P<last>last|past)|(?P<this>this)|(?P<next>next|coming))"
_PART = r"(?: (?P<part>morning|afternoon|evening|night))?(?P<owns>['’]s)?"
RELATIVE_DATES = (
    rf"{_BEFORE}(?:(?P<before_yesterday>day before yesterday)|(?P<after_tomorrow>day after tomorrow)"
    rf"|(?P<yesterday>yesterday)|(?P<tomorrow>tomorrow)|(?P<today>today)){_PART}",
    rf"{_BEFORE}(?P<today>this) (?P<part>morning|afternoon|evening)",
    rf"{_BEFORE}(?P<yesterday>last) (?P<part>night)",
    rf"{_BEFORE}(?P<today>(?P<part>tonight))",
    rf"{_BEFORE}<DAY>(?: of)? {_WAY} (?P<week>week)",
    rf"{_WAY} (?P<week>week) on <DAY>",
    rf"{_BEFORE}{_WAY} (?:(?P<weekend>weekend)|(?P<week>week)|(?P<month>month)|(?P<year>year))",
    rf"{_BEFORE}{_WAY} <DAY>{_PART}",
    rf"{_BEFORE}(?:(?P<last>last)|(?P<next>next)) <MONTH>",
    r"(?:(?P<since>since)|(?P<until>until|till|as of|starting)) <DAY>",
    r"(?P<until>from) <DAY> on(?:wards?)?(?! \d)",
    rf"on <BARE>{_PART}",
    r"<NUMBER> <UNIT> (?P<ago>ago)",
    r"(?P<ahead>in) <NUMBER> <UNIT>(?:['’]? time)?",
    r"<SLASHED>",
)
WRITTEN_DATE = "{day} {month} {year}"
WRITTEN = {  # the preposition, unless the sentence has another, and what stands behind it
    "day": ("on", "{date}"),
    "week": ("in", "the week of {date}"),
    "weekend": ("on", "the weekend of {date}"),
    "month": ("in", "{month} {year}"),
    "year": ("in", "{year}"),
    "part": ("on", "the {part} of {date}"),
    "night": ("in", "the night of {date}"),
}
WRITTEN_PARTS = {"tonight": "evening"}

# The time that a question is about.
UP_TO, SINCE_THEN = r"before|until", r"after|since"
ON_DAY, IN_MONTH, IN_YEAR = r"last|past|on", r"in|during|last|this", r"in|during"
LAST_UNITS = r"(?:(?:in|over|during|within|for) )?(?:the )?(?:last|past|previous)"
FEW, QUARTER = r"(?:a )?few|couple(?: of)?|several", r"quarter"
IN_WEEK, OF_WHAT_FOLLOWS = r"(?:in|during) (?:the )?(?:calendar )?week", r"of (?!(?:19|20)\d\d)"
LAST, THIS = r"last|past|previous", r"this"
SAYING = r"""tell|told|say|said|talk\w*|speak|spoken?|discuss\w*|mention\w*|chat\w*|conversations?|messages?|notes?
    |noted|wrote|written"""
# of a question with a time that names nothing else: "what happened last week?"
ASKS_FOR_TIME = r"""(?:did|have|was|were) (?:i|we)(?: been)? work(?:ed|ing)?(?: on)?|did|done|doing|happen\w*|going
    |went|been|summar\w+|recap|sessions?|learnt|learned|experience\w*|things?|all|everything|show"""
NOT_OF_THE_PAST = r"should|shall|will|can|could|would|may|might|must|want|plan\w*|next"

# When a task is due. A space is any blank.
PART_HOURS = {"morning": 9, "afternoon": 15, "evening": 18, "night": 20, "tonight": 20}
POINT_HOURS = {"noon": 12, "midday": 12, "midnight": 0}
SPOKEN_TIMES = {"half past": (0, 30), "quarter past": (0, 15), "quarter to": (-1, 45)}  # hours and minutes
CLOCK, DAY_ENDING = r"o['’]clock", r"day"
AT_TIME, AT_HOUR, IN_PART = r"at|by|(?P<ends>until|till)", r"(?:at )?around|at", r"in the|this|at"
BEFORE_TIME, TO_HOUR, AFTER_TIME = r"before", r"to", r"after|past"
ARTICLE_OF_DATE, OF_MONTH, NTH_ENDING = r"the ", r"of ", r"st|nd|rd|th"
ON_DATE, DUE_ON = r"on|by|(?P<ends>until|till)", r"on|by|(?P<ends>until|till)"
NEXT_WEEK = r"(?P<next>next) (?P<week>week)|(?P<second>after next)"
COMING = r"(?P<next>next)|this|coming"
NEXT_PERIOD = r"(?P<next>next) (?:(?P<week>week)|(?P<month>month)|(?P<year>year))"
WEEKEND = r"(?:(?:on|at) )?(?:(?:the|this|next|coming) )?weekend"
TODAY = r"today|(?P<part>tonight)|this(?= (?:morning|afternoon|evening|night))"
TOMORROW, DAY_AFTER_TOMORROW = r"tom+or+ow|tmrw", r"(?:the )?day after tomorrow"
OF_THIS_MONTH, OF_EVERY_MONTH = r"of (?:the|this) month", r"of (?:every|each) month"
OF_EACH_MONTH = rf"{OF_EVERY_MONTH}|of the month"
ABOUT, FROM_NOW, AND, OF_TIME = r"(?:about|around) ", r"from now", r"and", r"['’]? time"
AND_A_HALF = r"(?:and a half|1/2)"
FRACTIONS = {"half an?|a half|1/2(?: an)?": 0.5, "(?:a )?quarter of an": 0.25, "(?:a )?couple of": 2, "a few": 3}
NO_TIME = r"some\s?(?:time|day)|one day|any\s?time|whenever|later|soon|eventually|never|no (?:certain )?time|none"
AROUND_TIME = r"at|on|by|the|of|o'clock|and"
_YOU_ARE_TO = r"(?:i(?:'d| would) like you|i want you|i need you|you need|you have)\s+to|you\s+(?:should|must)"
REMIND = rf"""(?:(?:(?:can|could|would|will)\s+you|{_YOU_ARE_TO})\s+(?:please\s+)?)?(?:remind\s+me(?:,?\s+please\b)?
    |set\s+(?:me\s+)?a\s+reminder(?:\s+for(?:\s+me)?\b)?)"""
REMIND_TO, REMIND_OF = r"(?:to|that)", r"of"  # "Mondays remind me of school"
REMIND_ME = rf"(?:please )?{REMIND}\b[,:]?\s*(?:(?:to|that|about|of)(?:\s+|$))?|(?:me )?to(?:\s+|$)"

# What is done again and again.
EVERY, OTHER = r"every|each|once (?:an?|per|every|each)", r"other|second|2nd"
WORKDAYS, WEEKENDS = r"(?:every|each) (?:weekday|workday|working day)s?|weekdays", r"(?:every|each) weekend|weekends"
SEVERAL_TIMES, PER = r"twice|thrice|(?:[2-9]|two|three|four|five|six) times|[2-9]x", r"an?|per|every|each"
BETWEEN_DAYS, TO_DAY = r"and|or", r"to|until|till|through"
ON_REPEATED, FIRST_DAY, LAST_DAY = r"on(?: an?)?", r"(?:the )?first(?: day)?", r"(?:the )?last day"


VERB = r"""(?:(?:is|are|was|were|has|have|had|does|do|did|can|could|would)(?:n't)?|won't|can't|will|must|lives?|likes?
    |loves?|hates?|works?|wants?|needs?|prefers?|leaves?|starts?|ends?|expires?|goes|comes|costs?|plays?|studies
    |speaks?|drinks?|eats?|drives?|moved|died|takes?|uses?|means|knows?|owns?|lies|keeps?|stands?|sits|gets|got|became
    |left|passed|started|finished|bought|sold)\b"""
# the last: "the meeting room is B12", but not "the server is slow"
OWN_STATEMENT = rf"""(?:(?:i|we)(?:'(?:m|re|ve|d|ll))?\b|(?:my|our)\s++(?:[\w'-]++\s++){{1,5}}?{VERB}
    |(?:the|[\w-]{{1,30}}+'s)\s+(?:[\w'-]++\s++){{1,7}}?(?:is|are)\s++(?=[^.!?\n]{{0,60}}\d))"""
STATEMENT = rf"(?:{OWN_STATEMENT}|(?:[\w'-]++\s++){{1,6}}?{VERB}|(?:my|our)\s[\w' -]{{2,40}}+:\s)"

# Asking to remember or to forget something.
MEMORY_WORDS = "remember|forget|mind|memor|note|write|save|store"  # each such sentence contains one; no pattern
POLITE_END = r"please|pls|thanks?(?: you)?"
PLEASE = r"""please|pls|kindly|okay|ok|so|and|also|then|oh|hey|hi|hello|now|just|always|agent|by the way|btw|but
    |actually|(?:if|when) you (?:can|could|get a chance)|if possible|if you (?:don't|do not) mind"""
JOINT, CONDITION = rf"(?:{AND}|but|so|then|also)", r"if|when|whenever|once|as soon as|before|after|until"
# "she will call and remind me", "the songs are old but remind me of school", "he said, remind me": nobody is asked
NO_REQUEST = r"""(?:(?:(?:they|who|which|that|(?<!have )(?<!need )to|should|must|let|did|does|do|always|\w+'(?:ll|d)
    |(?:will|would|can|could)(?!\s+you))\b[^.!?]{0,80}\b(?:and|then)\s+(?:then\s+)?(?:remind|remember|forget|keep|note)
    |(?:and|but|then)\s+remind\s+me\s+of|(?:said|says|told\s+\w+|asked|replied),\s+(?:remind|remember))\b)"""
DO_NOT_FORGET = r"(?:do\s*n['o]?t|do\s+not)\s+forget"
REMEMBER = rf"""(?:(?:{_YOU_ARE_TO})\s+)?(?:remember|never\s+forget|{DO_NOT_FORGET}|keep\s+in\s+(?:mind|memory)
    |bear\s+in\s+mind|memori[sz]e|note\s+for\s+(?:later|the\s+future)|commit\s+to\s+memory|take\s+note(?!\s+of))"""
REMEMBER_QUESTION = r"""(?:(?:can|could|would)\s+you|will\s+you\s+please)\s+(?:please\s+)?(?:remember
    |keep\s+in\s+(?:mind|memory)|bear\s+in\s+mind|note|memori[sz]e)"""  # a request in the form of a question
NOTE = r"(?:(?:make\s+a\s+)?note(?:\s+down)?|write\s+down|save|store)"  # only before words about oneself
HERE = r"(?:for|in)\s+this\s+(?:project|folder|repository|repo)|here"  # what is told holds in this place alone
FOR_LATER = rf"please|for\s+(?:later|me|good)|too|{HERE}"
STANDING = r"(?:please\s+)?(?:from\s+now\s+on|always|never|in\s+(?:the\s+)?future)"  # begins a wish for all answers
THAT = r"that"  # begins a clause
THAT_BEFORE = r"(?:that|this|it)"  # stands for the sentence before
AS_FOLLOWS = r"(?:this|that)"  # before a colon
# "remember when we met", "remember that time in Rome": no request
ASKED = r"when(?!\s+(?:i|we)(?:'m|\s+(?:am|get|come|arrive|leave))\b)|where|who|whom|what|which|why|how|whether"
THINGS_PAST = rf"""(?:{ASKED}|if|those|all)\b|(?:that\s+|the\s+
    |you\s+)?(?:(?:time|day|night|evening|morning|week|summer|winter|year|one|guy|man|woman|girl|boy|movie|film|song
    |book|place|trip|restaurant|story|conversation|thing)s?\b(?!')(?!\s+(?:is|are|was|were|has|can|will|heals|flies
    |after\s+tomorrow)\b)|(?:that\s+)?(?:i|we)\s+(?:asked|told|said|mentioned|sent|showed|wrote)\b)"""
TO_DO = r"to\s+(?=\w)"  # begins what is to be done
FURTHER_REQUEST = r"""(?:and|then)\s+(?:(?:then|now|also|please)\s++){0,9}(?:tell|give|show|write|explain|list|what|how
    |why|can\s+you|could\s+you)\b"""
FORGET = r"(?:(?:can|could|would|will)\s+you\s+(?:please\s+)?)?forget(?:\s+about)?"
FORGETTABLE = r"""(?:the\s+fact\s+)?that\s+(?=\S+\s+\S)|(?:what|everything|anything|all)\s+(?:that\s+)?(?:i|you
    |we)\s++[^.!?]*?\babout\s+|(?:everything|anything|all)\s+about\s+|(?=(?:my|our)\s)"""
# Doubts and ends: a sentence with one states nothing that is true now.
DOUBT = r"""if|unless|would|could|should|might|may be|maybe|perhaps|probably|almost|used to|wants?|wish|hope|plans?
    |think|guess|pretend|imagine|suppose|going to|(?-i:will)|formerly"""
NEGATING = r"no|not|never|none|nothing|nobody|neither|nor|without|cannot"
COUNTING, TIMES = rf"(?:{'|'.join(_TO_TWELVE[1:])})(?: times)?|once|twice|first|second|third", r"times"  # the same
DENYING = r"""\b(?:do|does)(?: not|n['’]t)\b|(?<!\bdid )\b(?:not|never)\b|(?<=\bcan)(?:not|['’]t)\b
    |(?<!\bca)(?<!\bdid)(?<!\bwo)n['’]t\b"""  # is cut, so that what a sentence denies is left
NOT_DENYING = r"only|just|but|yet|far|because"  # beside it, the sentence denies something else
NO_LONGER = r"no longer|(?:not|no|never|\w+n['’]t)\b.*\b(?:any ?more|any longer)"
# what is cut from a sentence with NO_LONGER, so that what was true is left
NEGATED = r"""no longer|any ?more|any longer|(?:do|does|did)(?:n['’]t| not)|not|no|never"""
SOLD, STOPPED = r"sold|got rid of|gave away", r"stopped|gave up|given up|giving up"
LEFT = r"(?:left(?!-)|quit|moved out of|broke up with)(?: my job (?:at|with))?"  # where or with whom one lives, works
I_MEANT, DENIED, RATHER = r"i meant?(?: to say)?", r"not", r"but"  # "no, I meant Turin, not Milan"
REVISED, NEW = r"actually|correction|in fact|wait", r"new|current"  # "actually, I weigh 79 kg", "my new doctor"
AS, THEY, THEIR = r"as", r"he|she", r"his|her"
INSTEAD = r"instead of|rather than|in place of"
HABIT = r"(?:us|driv|rid|wear)(?:e|ing)?"  # with "now" it mostly replaces what the person did so before
SWITCHED = r"switch(?:ed)? from (?P<old>.+?) to (?P<new>.+)"
CLAUSE_OPENING = r"and|but|so|then|because|since|therefore"  # in front of a main clause that follows another
OWN_CLAUSE = rf"(?:(?:now|currently) )?(?:i|we)(?:'\w+)?\b|(?:my|our) (?:[\w'-]+ ){{1,4}}?{VERB}"
OPINION = r"can|could|can['’]t|know|understand|remember|care|see|think|believe|hear|recall|mind|matter|get"
SELF = r"i|i['’]\w+|we|we['’]\w+"
SMALL_TALK = r"""hello|hi|hii+|hey+|hiya|howdy|yo|good (?:morning|afternoon|evening|night|day)|morning|evening
    |greetings|welcome back|there|again|how are (?:you|things)(?: (?:doing|going))?|what's up|sup
    |nice to (?:see|meet) you|thanks?(?: (?:you|u))?(?: (?:very|so) much)?|thx|ty|cheers|a (?:lot|bunch|million)
    |much appreciated|ok|okay|k|alright|all right|right|fine|good|great|nice|cool|perfect|super|awesome|excellent
    |wonderful|lovely|sure|yes|yeah|yep|yup|no|nope|please|got it|i see|understood|makes sense|exactly|agreed|indeed
    |that's all|sounds good|will do|no problem|you're welcome|never ?mind|sorry|excuse me|oh|ah|hm|hmm+|wow|haha+|lol
    |bye(?:[ -]?bye)?|goodbye|see you(?: (?:soon|later|tomorrow|then))?|later|take care
    |have a (?:good|nice|great) (?:day|one|evening|weekend|night)|and|so|well|then|now|very much|agent|my friend|today
    |everyone|(?:that was |that's |very |so )?helpful|(?:you're|you are) (?:the best|great|awesome)
    |(?:good|nice|glad) to hear(?: that)?|how (?:can|may) i (?:help|assist)(?: you)?(?: (?:today|now|further))?
    |how's it going|what can i do(?: for you)?(?: today)?|(?:that's |it's )?(?:duly )?noted|good to know
    |thanks? (?:you )?for (?:telling|letting|reminding) me(?: know)?|thanks? (?:you )?for (?:sharing
    |the (?:info(?:rmation)?|update|reminder))|(?:i'll|i will|i've|i have) (?:remember(?:ed)?|not(?:e|ed)|keep
    |kept) (?:that|this|it)(?: in mind)?|i(?:'ll| will) make a note(?: of (?:that|this|it))?"""
# Of what is no fact: a question, or an instruction to the assistant.
INSTRUCTION = r"""please|always|never|from now on|ignore|disregard|forget|remember|answer|respond|reply|act|pretend
    |obey|do not|don't|you|your|system|assistant|the (?:assistant|agent|ai|model|system)"""
INSTRUCTIONS_MEANT = r"(?:previous|prior|above|system) (?:instructions?|prompt)"
ASSISTANT_MUST = r"(?:assistant|agent|ai|model|you) (?:must|should|has to|shall)"
QUESTION_OPENING = r"""(?:who(?:m|se)?|wh?at|wh?ich|where|when|why|how)(?:'?(?:s|re|d|ll))?
    |(?:in|at|on|to|from|for|with|by|of|since|until|till) (?:whom|whose|what|which|where|when|how)
    |(?:do|does|did|is|are|was|were|has|had|can|could|would|should|shall|may|might)(?:n't)? \w+
    |(?:am|have|will|must) (?:i|you|we|he|she|it|they|there|my|our|the|this|that|any|some)|any (?:idea|clue)|remind me
    |tell me|i (?:forgot|wonder|need to know|want to know|can't remember|don't remember) (?:who|what|which|where|when
    |why|how|whether|if)|(?:explain|describe|show me|give me|write (?:me )?an?) \w+|(?:[\w']+ ){0,3}(?:wants?
    |needs?) to know|(?:[\w']+ ){1,2}asks? (?:me )?(?:who|what|which|where|when|why|how|whether|if)"""
# in a clause behind another, where "where the passport is" may be no question
LATER_QUESTION = r"""(?:who|whose|what|which|where|when|why|how)(?:'?s|(?: (?!(?:the|my|our|an?|i|you|we|he|she|it|they
    |this|that)\b)\w+){0,2} (?:is|are|was|were|do|does|did|can|could|should|would|must|shall|will|has|have))\b|(?:do
    |does|did|am|is|are|was|were|can|could|should|will|must|shall|have|has) (?:i|we|my|our)"""
# who seeks what they have asks where it is; "we are looking for a flat" tells something
SEEKING = r"""(?:i|we)(?:['’](?:m|re)| am| are)? (?:still )?(?:looking|searching) for (?:my|our|the)
    |(?:i|we) (?:cannot|can not|can['’]t|could not|couldn['’]t) find"""
NEEDING = r"(?:i|we) (?:urgently )?(?:need|forgot|have forgotten)"  # in front of a question it belongs to it
INVERSION = r"(?:do|does|did|have|has|had|is|am|are|was|were|can|could|should|will|would) (?:i|you|we|he|she|it|they)"
QUESTION_END = r"who|whom|what|where|when|why|how|how (?:much|many|long|often)"
STATEMENT_CLAUSE = r"""[,;:–—] ?(?:(?:who|which) (?:is|are|was|were|has|have|i)|as|since|because|and|but|so|while
    |i(?! mean\b)|i'm|i've|my|we|our|he|she|they|it|there|the) |\b(?:because|now that|given that|so that
    |and (?:i|my|we)|but (?:i|my|we)|(?:remember|know|note) that|don['’]?t forget) """
IGNORANCE = r"""(?:i|we) (?:really |still |honestly |currently |actually )?(?:(?:do|did|could|have)(?: not|n't)
    |can(?:not|'t)|am (?:not able|unable) to) (?:currently |really |actually |yet )?(?:know|remember|recall|find|see
    |tell|say|have|got|been told|access|answer|store|keep|possess)|(?:i'm|i am) (?:not (?:sure|certain|aware|able)
    |unable|unaware)|(?:i have|i've) nothing|no (?:idea|information|records?|clue|mention|memory|knowledge|details?
    |data)|not that i know|(?:has|have|was|were)(?: not|n't) (?:been )?(?:told|mentioned|said|shared|given|recorded
    |saved|provided)|you (?:have|did)(?: not|n't) (?:tell|told|mention(?:ed)?|shared?|say|said)|nothing is (?:known|kept
    |recorded|stored)|is (?:unknown|not known|not recorded|not mentioned)"""
OFFER = r"""(?:could|can|would|will) you|please|if you|let me know|feel free|you (?:can|could|may|might)
    |i(?:'ll| will| can|'d| would)|tell me|once you|would you like"""
HOWEVER, APOLOGY = r"but|however|although|though", r"(?:i'm |i am )?(?:very |so )?sorry|i apologi[sz]e|unfortunately"
FIRST_PERSON = r"i|i'm|i've|i'd|i'll|my|mine|me|myself|we|our|ours|(?-i:us)"

# Statements as triples. A line with a predicate, what its object must be and words of which a sentence has one stands
# above the sentences themselves; "-" is the relation in the group "what". <WHO> is the person or a name.
ME = r"I(?:['’]ve)?|the (?:person|user)|person|user"
I_AM = r"I['’]?m|(?:I(?:['’]ve)?|the (?:person|user)|person|user) (?:am|is)"
IS, WE, TITLE = r"is", r"we", r"Dr\. |Mr\.? |Mrs\.? |Prof\. "
MY, STILL = r"my|(?:the )?(?:person|user)['’]s", r"now|currently|still|also|just|really|recently|have|has"
NO_NAME = r"""I|He|She|It|We|You|They|This|That|These|There|What|Who|Everyone|Everybody|Nobody|Someone|Today|Now|The|My
    |A|An|In|On|Our|His|Her|Its|Their|Your"""
ARTICLE, INDEFINITE_ARTICLE = r"the|an?", r"an?"
SECOND_CLAUSE = r"and|or|but|because|so that|while|who|which|whose|where|when"
CLAUSE_VERB = r"is|are|was|works?|lives?|has|have|likes?|loves?|hates?|dislikes?"
NEXT_CLAUSE = r"and|but|because|so|who|which|where"
PREDICATES = """colour:color mum:mother mom:mother dad:father neighbor:neighbour e_mail:email email_address:email
    mail:email mail_address:email e_mail_address:email phone_number:phone telephone_number:phone mobile_number:phone
    cell_number:phone number:phone job:works_as profession:works_as occupation:works_as employer:works_at
    text_editor:editor play:plays teach:teaches collect:collects support:supports wear:wears drink:drinks lead:leads
    eat:eats manage:manages coach:coaches train:trains breed:breeds grow:grows study:studies run:runs"""
ACTIVITY = r"""plays?|teach(?:es)?|collects?|supports?|wears?|drinks?|eats?|leads?|manages?|coach(?:es)?|trains?|breeds?
    |grows?|stud(?:y|ies)|runs?(?= (?:an?|the)\b)"""
FIRST_OF_TWO_NOUNS = r"(?:drink|play|train|coach|run|lead|support) \w+(?<![isu])s\W*$"  # "food and drink festivals"
NO_ACTIVITY = r"with|for|against|in|at|on|from|by|to|too|well|much|hard"  # what may follow and is no object
SCHOOL = r"(?:high |primary )?school|kindergarten|nursery|college|university|academy|church|club"
THINGS = r"""editor|shell|browser|terminal|font|theme|diet|language|native language|time ?zone|currency|blood type
    |shoe size|hair color|eye color|os|operating system|keyboard layout|timezone|username|handle|wi-?fi|router|height"""
PRONOUNS = """it this that these those them him her me you us so too how what there here something anything everything
    nothing"""
NO_PLACES = """home school university night day work peace fear sin hiding hope city town country suburbs village house
    flat apartment middle area north south east west past future present bank company hospital myself"""
NO_OBJECT, JOINING = r"to|that|how|when|being|doing", r"and|or|with"
NO_JOB = r"at|for|in|and|or|well|much|hard|bit|little|lot|few"
NATIONALITY = r"(?<=\w{3})(?:ian|ish|ese|ican)|German|Swiss|French|Dutch|Greek|Czech|Thai|Catholic|Muslim|Jew|Vegan"
EVENT = r"meeting|appointment|call|exam|flight"  # there may be another of it
NO_POSSESSION = rf"{EVENT}|question|problem|idea|feeling|look|date|bit|lot|moment|headache|cold|minute|hour|day"
# Words of a question for what a predicate says.
SEARCH_WORDS = """lives_in=live,home,city,move,moved,moving,relocated
    works_at=work,job,employer,company,started,joined works_as=work,job,profession,occupation
    studies_at=study,university comes_from=from,origin email=email,mail,address phone=phone,telephone,mobile,number
    birthday=birthday born_on=born,birthday,birth born_in=born,birthplace age=old,age name=name,called
    married_to=married,wife,husband,spouse wife=wife,married,spouse husband=husband,married,spouse
    sister=sister,sibling brother=brother,sibling mother=mother,parent,mum,mummy,mom father=father,parent,dad,daddy
    grandmother=grandmother,grandma,granny grandfather=grandfather,grandpa
    partner=partner,wife,husband,spouse,girlfriend,boyfriend girlfriend=girlfriend,partner
    boyfriend=boyfriend,partner son=son,child daughter=daughter,child dog=dog,pet cat=cat,pet
    allergic_to=allergic,allergy likes=like dislikes=dislike,hate drives=drive,car speaks=speak,language
    answers_at=address,ip"""
DATED_TRIPLES = r"""
lives_in place live|living|moved|reside|relocated
    (?:<WHO>|we)<NOW> (?:lives? in|moved(?: from [^,]+?)? to|resides? in|relocated to) <OBJECT>
    <WHO_IS><NOW> living in <OBJECT>
works_at place work|start|employed
    <WHO><NOW> (?:works?|start(?:ed|s)?(?: working| to work| a (?:new )?job)?)(?: now)? (?:at|for) <OBJECT>
    <WHO_IS><NOW> (?:working|employed) (?:at|for|by) <OBJECT>
works_as job work|profession|trade
    <WHO> works?<NOW> as <OBJECT>
    <I_AM><NOW> <OBJECT> by (?:profession|trade)
weight value weigh
    <WHO><NOW> weighs?<NOW> <OBJECT>
age age 0|1|2|3|4|5|6|7|8|9
    <WHO_IS><NOW> (?P<object>\d{1,3})(?: years? old| years? of age)?
married_to given_name married
    <WHO_IS><NOW> married to <OBJECT>
studies_at place stud
    <WHO><NOW> (?:studies|study) at <OBJECT>
answers_at network_address answers|reachable|listens
    (?P<subject><NAME>|the [\w-]+(?: [\w-]+)?)<NOW> (?:answers at|is reachable at|listens on) <OBJECT>
"""
PLANNED_TRIPLES = r"""
lives_in place mov|lived
    (?:<WHO_IS>|we(?: a|['’])re)<NOW> moving(?: from [^,]+?)? to <OBJECT>
    (?:<WHO>|we)<NOW> (?:moves?(?: from [^,]+?)? to|lived in) <OBJECT>
works_at place start|join|work
    <WHO_IS><NOW> (?:starting(?: to work)?(?: at| for)|joining) <OBJECT>
    <WHO><NOW> (?:join(?:s|ed)?|worked (?:at|for)) <OBJECT>
"""
UNDATED_TRIPLES = r"""
name given_name name|call
    (?:<MY> name(?: is|['’]s)|call me|<I_AM> (?:called|named)) <OBJECT>
email mail_address mail|reach
    (?:you can reach me at|<MY> e-?mail(?:[ -]?address)?(?: is|:)?|e-?mail:) <OBJECT>
phone phone_number 0|1|2|3|4|5|6|7|8|9
    (?:<MY> (?:(?:tele)?phone|mobile|cell)?[ -]?(?:number)?(?: is|:)?|you can call me (?:at|on)) <OBJECT>
birthday day birthday
    (?:<MY>|<RELATIVE>['’]s) birthday is(?: on)? <OBJECT>
born_on day born
    <WHO> was born on <OBJECT>
born_on year born
    <WHO> was born in <OBJECT>
born_in place born
    <WHO> was born in <OBJECT>
comes_from place from
    <WHO_IS> from <OBJECT>
    <WHO> comes? from <OBJECT>
- given_name <KIN>
    <MY> (?P<what><KIN>)['’]s name is <OBJECT>
    (?P<object><NAME>) is (?:<MY>|(?P<subject><NAME>)['’]s) (?P<what><KIN>)
    (?P<object><NAME>) is the (?P<what><KIN>) of <NAMED>(?P<subject><NAME>)
    (?P<subject><NAME>)['’]s (?P<what><KIN>) is (?:called|named) <OBJECT>
- given_name called|named
    <MY> (?P<what>[\w-]+(?: [\w-]+)?) is (?:called|named) <OBJECT>
place_of_ place  in
    <MY> (?P<what>(?!(?:<KIN>|<NO_POSSESSION>)\b)[\w-]+(?: [\w-]+)?) is in <OBJECT>
    <WHO> (?:has|have) (?:<MY>|his|her|their) (?P<what>[\w-]+) in <OBJECT>
- person <KIN>
    <MY> (?P<what><KIN>) is<NOW> <OBJECT>
prefers. any prefer|use|switched|favo
    <ME><NOW> prefers? (?:to use )?<GOAL> as (?:my|the|an?|his|her|their) (?P<what>[\w -]{2,30})
    <ME><NOW> (?:uses?|switched to) <OBJECT> as (?:my|his|her|their) (?:main |default |standard )?(?P<what>[\w -]{2,30})
    (?:<MY>|(?P<subject><NAME>)['’]s) (?:favou?rite|preferred) ?(?P<what>[\w -]{2,30}?) (?:is|are) <OBJECT>
allergic_to any allerg
    <WHO_IS> allergic to <OBJECT>
likes likeable like|love|enjoy|adore|stand|bear
    <WHO><NOW> (?:likes?|loves?|enjoys?|adores?|can (?:stand|bear)) <GOAL>(?: at all|(?: so| very)? much| a lot)?
dislikes likeable hate|dislike|detest|loathe
    <WHO><NOW> (?:hates?|dislikes?|detests?|loathes?) <OBJECT>
owns likeable own
    <WHO><NOW> owns? <OBJECT>
    (?:the|<MY>) <GOAL> belongs to (?:me|<NAMED>(?P<subject><NAME>))
drives likeable drive
    <WHO><NOW> drives? (?:an?|the) <OBJECT>
uses activity use
    (?:<WHO>|we)<NOW> uses?<NOW> <OBJECT>
goes_to school go|attend
    <WHO><NOW> (?:goes? to|attends?) <OBJECT>
- activity play|teach|collect|support|wear|drink|eat|lead|manage|coach|train|breed|grow|stud|run
    <WHO><NOW> (?P<what><ACTIVITY>)<NOW> (?!<NO_ACTIVITY>\b)<OBJECT>
is_a sort is|am|'m|’m
    <WHO_IS><NOW> an? <OBJECT>
- any  of
    <WHO_IS> the (?P<what>[\w-]+(?: [\w-]+)? of) <OBJECT>
speaks any speak
    <WHO><NOW> speaks? (?P<object>(?-i:[A-ZÄÖÜ])\w+)
has possession have|has
    <WHO><NOW> (?:have|has) (?P<object>(?:an?|one|two|three|four|five|\d+) .+)
prefers likeable prefer
    <ME><NOW> prefers? <OBJECT>
- tool  is|:
    (?:(?P<subject><NAME>)|<RELATIVE>)['’]s (?P<what>birthday|age|email|phone|address|<KIN>) is <OBJECT>
    <MY> (?P<what><THINGS>)(?: is|:) <OBJECT>
- value  is|:
    <MY> (?P<what>(?!(?:<KIN>|name|favou?rite)\b)[\w-]+(?: [\w-]+){0,2}?)(?: is|:) <OBJECT>
    (?P<subject><NAME>)['’]s (?P<what>(?!(?:favou?rite|<NO_POSSESSION>)\b)[\w-]+(?: [\w-]+)?) is <OBJECT>
"""

# What a reply promises or says that it has saved, set as a reminder or forgotten, and what makes it none.
_I_HAVE = r"\bI(?:'ve| have)?(?: (?:now|just|also|already|successfully))*"
_I_WILL = r"""\bI(?:'ll| will|'m going to| am going to)(?: (?:now|also|certainly|definitely|always|gladly|surely
    |be sure to|make sure to|try to))*"""
_IS_DONE = r"(?:has|have|is|are)(?: (?:now|just|all|already|successfully|been))*"
_OPENS = r"^(?:(?:ok(?:ay)?|alright|got it|sure|great|thanks|perfect|understood|done|all set)\W+)*"
_TO_NOTES = r"(?:to|in|into) (?:my|your) (?:notes?|memory|records|profile)\b"
_SET, _ERASED = r"(?:set|created|scheduled|added|saved)\b", r"(?:forgotten|erased|deleted|removed|wiped|cleared)"
PROMISES = rf"""{_I_WILL} (?:remember|never forget|not forget|memori[sz]e|keep (?:that|this|it|your|these|those)\b
        .{{0,60}}?\bin (?:mind|memory)|keep in mind|note|save|store|record|make a (?:mental )?note|take (?:a )?note
        |write (?:that|this|it) down|add (?:that|this|it|your)\b)
    |{_I_HAVE} (?:saved|stored|noted|memori[sz]ed|recorded|remembered)(?:\W*$| (?:that|this|it|your|these|a note|down
        |as|the (?:fact|information|note|date))\b)
    |{_I_HAVE} (?:noted the\b|made a (?:mental )?note|taken (?:a )?note|written (?:that|this|it) down
        |(?<!I )added (?:that|this|it|your\b.{{0,40}}?) to (?:my|your))
    |\bI won't forget\b
    |{_OPENS}(?:duly |it's |that's |consider (?:it|that) )?(?:noted|saved|remembered|memori[sz]ed)\b(?! (?:that|by|in
        |as|earlier|above))
    |\b(?:has|have) (?:now |just )?been (?:saved|stored|noted|recorded|remembered|added to (?:my|your) memory)\b
    |\b(?:it|that|this)(?:'s| is) (?:now )?(?:saved|stored|noted|in my memory)\b
    |{_I_HAVE} (?:added|put|written|wrote|jotted|saved) [^.!?]{{1,60}}? {_TO_NOTES}
    |(?:{_OPENS}|\b{_IS_DONE} )(?:added|written|saved) (?:(?:it|that|this) )?{_TO_NOTES}
    |(?:{_OPENS}|{_I_HAVE} )(?:created|added|saved|written|wrote) (?:a|the|your) (?:new )?note\b
    |{_OPENS}note (?:saved|added|created)\b"""
REMINDER_CLAIMS = rf"""\b(?:your(?: \w+)?|the|a) (?:reminder|alarm)s?\b[^.!?]{{0,60}}? {_IS_DONE} {_SET}
    |(?:{_I_HAVE}|{_I_WILL}) (?:set|creat|schedul|add|sav)e?d?(?: up)? (?:you )?(?:an?|the|your|that
        |this)(?: \w+)? (?:reminder|alarm)\b
    |{_I_HAVE} (?:added|put) [^.!?]{{1,60}}? (?:to|in|on) your (?:calendar|reminders|to-?dos?|to-?do list|tasks?)\b
    |{_I_WILL} remind you\b
    |{_OPENS}(?:a |your )?reminders? (?:is |has been )?{_SET}"""
FORGETTING_CLAIMS = rf"""{_I_HAVE} {_ERASED} (?:everything|all (?:of|about|the|your|that)|my memory|your (?:notes?
        |facts?|data|information|details|reminders?))\b
    |(?:{_I_HAVE} {_ERASED} [^.!?]{{1,60}}?|\b{_IS_DONE} {_ERASED}) from (?:my|your) (?:notes|memory|facts)\b
    |{_I_HAVE} (?:forgotten|erased|deleted) (?:about )?(?:it|that|this|them|those)(?: now| for you)?\W*$
    |\bI forgot (?:everything|all) (?:about|of|you)\b|{_I_WILL} (?:forget|erase) (?:everything|all|it|that|this)\b
    |\b(?:everything|all)\b[^.!?]{{0,60}}? {_IS_DONE} {_ERASED}\b
    |{_OPENS}(?:it's |that's |consider (?:it|that) )?(?:forgotten|erased|deleted)\W*$"""
PROMISE_WORDS = r"""remember|forg|memor|mind|note|save|stor|record|write|written|add|alarm|calendar|reminder|to-do|todo
    |task|profile|eras|delet|remov|wip|clear"""  # one of them is in each promise or claim
NOT_FORGET = r"(?:not|never|won't) forget"
NO_PROMISE = r"""not|can't|cannot|couldn't|won't|don't|haven't|unable|never|if you|would you|should i|shall i|unless
    |nothing|this (?:conversation|session|chat)"""

# Labels of secrets, parts of which a text must contain, and what stands between a label and the secret.
SECRET_LABELS = "pass|pwd|secret|token|key|phrase"
NUMBER_LABELS = "pin|puk|tan|cvv|cvc|ssn|social s|tax|insurance n|pass|national id|id card|id-card|licen"
SECRET_IS, SECRET_OF = r"is|was|are", r"for|of|to|on|at|from"
PASSWORD, SEED_PHRASE = r"pass(?:word|wd|phrase|code)|\bpwd", r"passphrase|(?:seed|recovery)[ -]?(?:phrase|words)"
PIN_NUMBER, ORDER_NUMBER = r"code|number", r"order|invoice|tracking|ticket|parcel|isbn|imei|ean|customer"
ID_NUMBER = r"""ssn|social security(?: (?:number|no\.?|nr\.?))?|national insurance (?:number|no\.?)
    |(?:tax|taxpayer)[ -]?(?:id|identification)(?: (?:number|no\.?))?|national id(?: (?:number|no\.?))?
    |passport[ -]?(?:number|no\.?)|id[ -]card (?:number|no\.?)|driv(?:er'?s|ing) licen[cs]e (?:number|no\.?)"""
NO_PASSWORD = """a an the not no in on at by with to too very still always never same different correct incorrect
    invalid wrong right weak strong long short safe secure required needed optional missing empty known unknown here
    there below above also only now again good bad fine important hard easy simple ready old new mine yours his hers
    theirs ours what written hidden lost due kept sent set it that this your my of and or null none case sensitive"""
NO_PASSWORD_ENDING = r"(?<=[a-zäöü])(?:ed|ing|able|ible|ly)$"

# How the person is called, and what tells that a sentence is about them.
SELF_NAMES = "person|i|me|you|user|the person|the user"
SELF_INTRODUCTION = r"i['’]m|i am|my name|i was born"
# of what should outlast a conversation
DURABLE = r"""i|my|we|our|decid\w+|prefer\w*|always|never|must|call(?:ed)? me|name|birthday|allerg\w+|live|work"""
# Skills: words that say little about a request, and steps that tell the assistant to ignore its rules or not to ask.
WEAK_WORDS = """make made write help need new time times day days week today use used using get go want look find show
    give put start work working thing way good last next long year month first back plan run set add check change
    best"""
IGNORE = r"ignore|disregard|forget|override|bypass"
RULES = r"instructions?|rules?|prompts?|guidelines?|polic(?:y|ies)|safety"
WITHOUT, LACKING = r"never|don['’]?t|do not|without", r"without"
TELLING, SOMEBODY = r"ask(?:ing)?|tell(?:ing)?|inform\w*", r"person|user|owner|human|anyone|anybody"
PERMISSION = r"asking|permission|approval|consent"
APPROVE, PROPOSED, SECRETLY = r"accept|approve", r"proposals?|skills?|facts?|memor(?:y|ies)", r"secretly"
