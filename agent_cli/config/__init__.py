"""Settings: their values, where each came from, what may be wrong with one, and how one is changed in the file.

`values` is the only list of settings. This folder knows errors and values of the package, and nothing else of it.
"""
