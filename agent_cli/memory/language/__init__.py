"""Rules about words in English and German: terms, triples, claims, promises, secrets and details of a text.

Owns no tables and knows no database; only the standard library and, for secrets, python-stdnum.
"""
