"""Facts about the person. Owns the tables fact, fact_source, fact_version and fact_mark."""
