"""Reports from the log: figures about days, the present day, token usage, tool calls and the audit log."""
