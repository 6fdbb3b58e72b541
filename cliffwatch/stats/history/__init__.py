"""The history of a series: steps, outliers, slow drift, and what moved the machine rather than
one benchmark.
"""
