"""The assistant for other programs: over HTTP, and as a server of tools."""
