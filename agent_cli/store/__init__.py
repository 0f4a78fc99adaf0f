"""The SQLite file: connections, schema, identifiers, events, jobs. Only this folder knows apsw. Owns the
tables `event`, `job` and `meta`."""
