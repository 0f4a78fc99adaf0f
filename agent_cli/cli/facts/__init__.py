"""`agent facts`: the commands, how a fact is shown in a list, and facts from and for files."""
