"""The report as a mail: by itself, and as a reply to another."""
