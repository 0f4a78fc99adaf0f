"""What can be found: passages with their indexes, the graph of entities, ranking and recall. Owns the derived tables,
which may be dropped and rebuilt, and the record of what was recalled (recollection)."""
