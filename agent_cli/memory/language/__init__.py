"""Words, without a database: terms, statements taken apart, secrets, names and numbers in a text."""
