"""Erases selected rows with everything derived from them, and checks the files for traces.

Owns no table. Each folder that owns tables says in its `lineage.py` which of its rows depend on erased ones.
"""
