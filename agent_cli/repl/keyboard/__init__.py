"""Keys: bindings of the prompt, pastes, single keys, choices. Knows prompt-toolkit, nothing else of `repl`."""
