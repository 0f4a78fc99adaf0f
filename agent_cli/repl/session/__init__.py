"""The state of an interactive conversation and what can be done with it, without drawing; greetings and reminders.

It knows the app, the agent and memory; commands and the shell use it. Owns no tables.
"""
