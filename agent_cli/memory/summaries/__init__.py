"""Summaries of sessions and periods. Owns summary and summary_source. Takes the model as a plain callable."""
