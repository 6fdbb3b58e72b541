"""What is written into a pull request: from the state of its jobs to its comments and check run."""
