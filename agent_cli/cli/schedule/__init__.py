"""`agent schedule`: the commands, what runs what is due, where answers go, and timers of the system."""
