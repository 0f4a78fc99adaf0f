"""Documents: files of the person made searchable. Owns the tables collection, document and section."""
