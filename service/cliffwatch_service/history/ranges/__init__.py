"""Changes whose ranges hold one another, and the reports of their culprits."""
