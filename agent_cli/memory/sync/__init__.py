"""Exchanges what is remembered with the person's other machines, through a folder. May use all of memory."""
