"""People, places and things: the graph of their relations, derived from facts, and which of them a question names.

Owns the derived tables entity, alias and relation, which may be dropped and rebuilt.
"""
