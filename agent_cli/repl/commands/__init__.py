"""The slash commands, a function each; help, completion and the README come from their registry."""
