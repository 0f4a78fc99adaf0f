"""Import and export of conversations, also of ChatGPT, Claude and llm, and export of rows of every kind."""
