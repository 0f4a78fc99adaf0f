"""The slash commands, one function each, in modules by subject; help, completion and docs/ use their registry."""
