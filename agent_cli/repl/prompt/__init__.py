"""The line at which a person types: completion, attached files, and the preview of what memory will add."""
