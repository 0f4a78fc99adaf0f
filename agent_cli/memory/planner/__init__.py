"""Notes, tasks with their reminders, and schedules. Owns the tables note, task and schedule."""
