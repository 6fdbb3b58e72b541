"""What is said of regression reports, to whom, and whether it came there."""
