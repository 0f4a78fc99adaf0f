"""Whether a person is there: which process runs this one, and the question that only a pressed key answers.

It knows the operating system alone, and no other part of the program. Linux tells all that is asked here; elsewhere
`ps` tells who is whose parent, and a process that left its parent cannot be told from a person's.
"""
