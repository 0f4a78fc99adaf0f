"""Skills: how something is done, as SKILL.md files. Owns the tables skill and skill_version."""
