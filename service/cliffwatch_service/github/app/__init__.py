"""The App itself: its identity and secrets, how it is made, and how they are changed."""
