"""The history of a series: where it steps, which steps are worth a fresh comparison, and its slow trend."""
