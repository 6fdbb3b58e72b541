"""The table of samples, one definition for CSV, Parquet, JSON, the public dataset and the
service's exports.
"""
