"""Moves cost between functions of a kernel, and plants small real costs, to see which of the two a report tells
(`make cost-shift`).
"""
