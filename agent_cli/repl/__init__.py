"""The interactive session, what is said around it, reminders, pages, review. Knows neither commands nor shell."""
