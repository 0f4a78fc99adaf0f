"""`agent facts`: the commands, the text of a fact in lists and receipts, and facts from and to files.

Owns no tables. It knows memory through the app, and nothing of the other commands but `forget` and the options.
"""
