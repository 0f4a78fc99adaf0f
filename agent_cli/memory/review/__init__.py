"""The review of proposals: one queue of facts and skills that wait for the person's approval.

Owns no table. Knows facts, skills and conversations.
"""
