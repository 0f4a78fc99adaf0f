"""Text on its way to a terminal: answers in Markdown, what the program itself says, code, tables, a spinner.

Colours and styles stand in `styles`, code is coloured in `highlight`; `display` decides whether colours are shown.

Used by the prompt and by the commands, so it knows only `text`, `values` and `errors`. Owns no tables.
"""
