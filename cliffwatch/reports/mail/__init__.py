"""The report as a mail, and as a reply to a mail."""
