"""Facts about the person: extracted, proposed, adopted, replaced, listed, imported and exported.

Owns the tables fact, fact_source, fact_version and fact_mark. Knows language, search and conversations.
"""
