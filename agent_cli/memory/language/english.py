"""The English of the rules: regular expressions in lower case, matched without regard to case."""

TIME_WORDS = (
    r"yesterday|today|tonight|tomorrow|last|next|ago|weeks?|weekend|months?|years?|since|recently|soon|morning"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october"
    r"|november|december|\d+(?:st|nd|rd|th)?"
)
WHEN_QUESTION = r"when|how long|(?:in )?(?:what|which) (?:year|month|date|day)"
