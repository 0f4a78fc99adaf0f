"""The SQLite file: connections, schema, migrations, identifiers, events, jobs. Only this folder knows apsw.

Owns the tables `event`, `job`, `migration` and `meta`; everything else belongs to the folder that writes it. It knows
no other folder.
"""
