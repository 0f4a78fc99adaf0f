"""Summaries of sessions and of days, weeks, months, quarters and years, with the sources of each sentence.

Owns the tables summary and summary_source. Takes the model as a plain callable.
"""
