"""Pushes a history with planted changes to a branch that a real service follows, and checks which commits its
reports name (`make planted-watching`).
"""
