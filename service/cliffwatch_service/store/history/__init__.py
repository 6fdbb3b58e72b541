"""The history of series: points, changes and their reports, and the lines of revisions."""
