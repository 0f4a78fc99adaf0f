"""The assistant for other programs: over HTTP, and as a tool server (MCP)."""
