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
