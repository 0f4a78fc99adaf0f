"""`agent schedule`: the commands, the runner of due schedules, the targets of answers, and timers of the system.

Owns no tables. It knows memory and turns through the app, and of the other commands only how a skill is found.
"""
