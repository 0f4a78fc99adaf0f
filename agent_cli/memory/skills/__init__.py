"""Skills: instructions for a task as SKILL.md files, written by the person or proposed by a model.

Owns the tables skill and skill_version. Knows facts, search, conversations and language.
"""
