"""The SQLite file: connections, schema, migrations, identifiers, events, jobs. Only this folder knows apsw. Owns the
tables `event`, `job`, `migration` and `meta`."""
