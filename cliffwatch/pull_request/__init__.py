"""Pull requests: their comments and check runs, `/bench` commands in comments, and posting to GitHub."""
