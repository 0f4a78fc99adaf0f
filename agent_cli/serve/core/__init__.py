"""What every route works with: the state of the server, limits, and turns in their order."""
