"""Documents: files of the person made searchable, as collections, documents and sections.

Owns the tables collection, document and section.
"""
