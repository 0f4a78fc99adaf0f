"""Import and export: conversations as JSON lines or Markdown, exports of ChatGPT, Claude and llm, rows of every kind.

Owns no tables: it reads and writes conversations through log and sessions.
"""
