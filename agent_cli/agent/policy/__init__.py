"""Whether a tool call may run: the person's rules, the risk of the tool, and the limits of a turn.

Owns no tables. It may know tools and messages, but neither memory nor models.
"""
