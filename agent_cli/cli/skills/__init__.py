"""`agent skills`: the commands, the text of a skill in lists, and SKILL.md files from and to folders.

Owns no tables. It knows memory through the app, and of the other commands only the review of facts and the options.
"""
