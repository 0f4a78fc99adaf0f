"""What waits for the person's yes, whatever its kind, in one queue. Owns no table."""
