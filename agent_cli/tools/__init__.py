"""The tools that the model may call: those in modules named `…_tools`, and those of MCP servers. Owns no table."""
