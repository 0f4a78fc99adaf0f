"""The tools that the model may call: the built-in ones, in modules named `…_tools`, and those of MCP servers.

Owns no tables (the descriptions of MCP tools are stored in `meta`). May use memory and the store, never the agent.
"""
