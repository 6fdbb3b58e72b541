"""Holds the method against noise whose truth is known: simulated, and real nights on which
nothing changed.
"""
