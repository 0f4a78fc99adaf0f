"""Text on its way to a terminal: answers in Markdown, what the program itself says, code, tables. Owns no tables.

Colours stand in `styles`, and whether they are shown. Used by the prompt and the commands, so it knows neither.
"""
