"""Facts: proposed, adopted, replaced by newer ones, listed, exported and tested.

Owns the tables fact, fact_source, fact_version, fact_mark and fact_test.
"""
