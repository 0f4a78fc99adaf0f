"""Reports from the log: token usage, tool calls, the present day, signals and the audit log.

Reads tables of other folders, and writes and owns none.
"""
