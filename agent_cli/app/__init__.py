"""One run of the program: settings, database, models and tools, joined for the shell, the prompt and the server."""
