"""A bench host's worker as a service of systemd: its files, how they get into place, and how they are taken back."""
