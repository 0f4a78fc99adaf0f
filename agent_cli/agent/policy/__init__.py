"""What a tool call may do: its risk, the rules of the person, and when a turn has gone on long enough."""
