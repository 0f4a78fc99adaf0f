"""Time in words: when something is due, and the periods of summaries.

Owns no tables and knows no database; dateutil and tzlocal are imported where they are used.
"""
