"""What can be found: passages with their word and vector indexes, the graph of entities, ranking and recall.

Owns the derived tables (passage, speaker, area, day, stale, entity, alias, relation) and the record of what was
recalled (recollection). Everything but that record may be dropped and rebuilt.
"""
