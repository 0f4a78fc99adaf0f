"""Time in words, in English and German: dates in statements, ranges in questions, due times, repetitions, periods,
zones.

Owns no tables and knows no database; dateutil, dateparser and tzlocal are imported where they are used.
"""
