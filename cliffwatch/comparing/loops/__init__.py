"""The empty loop of a benchmark, subtracted: its own, measured in the same boots, or one that was measured
elsewhere.
"""
