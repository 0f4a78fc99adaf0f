"""The SQLite file. Only this package knows apsw."""
