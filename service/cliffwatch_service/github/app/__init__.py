"""The App: its identity and secrets, its setup and the rotation of its secrets."""
