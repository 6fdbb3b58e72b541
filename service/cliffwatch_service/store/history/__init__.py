"""What series read over time: points, changes and their reports, and the lines of revisions."""
