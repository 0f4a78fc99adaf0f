"""Time in words: dates in statements, ranges in questions, due times, repetitions, periods and zones."""
