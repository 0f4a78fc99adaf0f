"""Conversations: sessions, messages, tool calls, session notes, the rolling summary, prompts typed, callers.

Owns the tables session, message, tool_call, jotting, rolling, prompt, caller and answered.
"""
