"""What a pull request is told, and how."""
