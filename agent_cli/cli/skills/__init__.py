"""`agent skills`: the commands, how a skill is shown in a list, and SKILL.md files."""
