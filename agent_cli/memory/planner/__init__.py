"""Notes, tasks with reminders, and schedules. Owns the tables note, task and schedule. Knows no model."""
