"""A third language in one module: "mi" is I, "zo" is live, and the day before is "yup"."""

STOP_WORDS = "mi ke la"
MONTHS = "unu du tri kvar kvin ses sep ok nau dek dekunu dekdu"
DAYS = "lun mar mer jov ven sab dim"
NUMBERS = {"biru": 2}
TIME_UNITS = "sek min oro tago semo mono jaro"
ORDINAL = r"-a"
SINCE, UNTIL, AT = r"ekde", r"gis", r"je"
DATE_HINTS = r"yup|semo"
RELATIVE_DATES = (r"(?P<yesterday>yup)", r"<NUMBER> <UNIT> (?P<ago>poste)")
WRITTEN_DATE = "{day}-a {month} {year}"
WRITTEN = {"day": ("je", "{date}"), "week": ("je", "la semo de {date}")}
TOMORROW = r"tup"
PART_HOURS = {"vespo": 18}
AT_HOUR = r"cle"
EVERY = r"ciu"
ME, SELF, OWN_CLAUSE = r"mi", r"mi", r"mi\b"
KIN = "frato:brother"
MY = r"mia"
DATED_TRIPLES = """
lives_in place zo
    <WHO> zo<NOW> en <OBJECT>
"""
UNDATED_TRIPLES = """
- given_name <KIN>
    <MY> (?P<what><KIN>) nomas <OBJECT>
"""
NO_LONGER, NEGATED = r"neplu", r"neplu"
REMEMBER, MEMORY_WORDS = r"memoru", "memoru"
PROMISES, PROMISE_WORDS = r"\bmi memoros\b", "memoros"
SMALL_TALK = r"saluto"
QUESTION_OPENING = r"kie"
SECRET_LABELS, PASSWORD, SECRET_IS = "pasvo", r"pasvo", r"estas"
