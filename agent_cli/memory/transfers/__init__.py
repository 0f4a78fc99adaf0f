"""Conversations in and out of the file, and the exports of other programs."""
