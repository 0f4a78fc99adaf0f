"""Files of the person, read so that they can be found: collections, their files, and sections of these.

Owns the tables collection, document and section.
"""
