"""Looks after the whole file: backups and their return, checks, what a damaged file still holds, its size.

It knows the folder above and no other.
"""
