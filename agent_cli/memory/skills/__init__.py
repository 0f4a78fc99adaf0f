"""Skills: instructions for a task as SKILL.md files. Owns the tables skill and skill_version."""
