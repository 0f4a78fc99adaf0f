"""What is remembered, as pages for a person: the hits of a search, the reasons of a recall, tasks, a row in its place.

The prompt and the commands show the same pages; a pipe gets plain lines instead. Owns no tables.
"""
