"""Two months of one person with the assistant, simulated: what is recalled for each question, and what is left over.

`lists` says what a thing told is; `english` and `german` have what is told and how it is asked for, `chatter` all else
that is said. `person` types it into the program, `model` answers, `judging` compares what was recalled with the truth,
`run` prints the figures.
"""
