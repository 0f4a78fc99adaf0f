"""The routes of the HTTP server, one module for each part of the interface."""
