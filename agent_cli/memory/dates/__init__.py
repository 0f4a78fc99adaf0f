"""Time in words, in English and German: the days that a text means, when something is due, the periods of
summaries.

Owns no tables and knows no database; dateutil and tzlocal are imported where they are used.
"""
