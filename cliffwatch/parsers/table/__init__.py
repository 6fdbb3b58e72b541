"""The table of samples: one definition for CSV, Parquet, JSON, public datasets and the service's exports."""
