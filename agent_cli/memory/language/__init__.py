"""Rules about words in English and German: terms, days, triples, claims, promises, secrets and details of a text.

`secrets` masks keys and numbers: search/index.py calls it for every passage of a message, facts/adoption.py for facts.

Owns no tables and knows no database; only the standard library and, for secrets, python-stdnum.
"""
