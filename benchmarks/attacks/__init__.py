"""Attacks on a person's consent, each through the real process, and what the database says afterwards.

house: a home with something to accept, restore, change and erase, and whether any of it was decided; processes:
programs that the assistant has started, and programs without a terminal; keyboards: keys that nobody pressed; texts:
words that come in by any way and want to be obeyed, or to pose as the program; run: all of them, counted, with
controls that are accepted. What runs as the person and means harm is out of the promise, and is not tried.
"""
