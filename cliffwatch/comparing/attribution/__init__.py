"""Where a change comes from: the instructions of each function, base against head, for each operation of a
benchmark.
"""
