"""Facts about the person: extracted, proposed, adopted, replaced, listed, exported and tested.

Owns the tables fact, fact_source, fact_version and fact_mark. Knows language, dates, search and
conversations.
"""
