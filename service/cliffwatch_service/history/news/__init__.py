"""News of regression reports: when there is news, its text, its subscribers and its delivery."""
