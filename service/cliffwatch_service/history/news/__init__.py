"""News of regression reports: what is news, whom it is for, how it reads, and where it may go."""
