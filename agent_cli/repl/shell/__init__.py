"""The interactive session itself: its loop, how turns are drawn, approval of tool calls, choice of session and model.

It knows the whole of `repl`, the app and the agent's events; `cli` starts it. Owns no tables.
"""
