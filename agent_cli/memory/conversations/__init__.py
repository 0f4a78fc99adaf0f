"""Conversations. Owns the tables session, message, tool_call, jotting, rolling, prompt, caller and answered."""
