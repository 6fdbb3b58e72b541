"""News of regression reports: what is reported, to whom, and whether it was delivered."""
