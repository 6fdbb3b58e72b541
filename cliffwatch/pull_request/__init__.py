"""What a pull request is told: its comment, its check run, the commands that people write into comments, and
the posting.
"""
