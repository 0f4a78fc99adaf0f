"""The review of what waits for a yes: one proposal at a time."""
