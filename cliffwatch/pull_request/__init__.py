"""What is measured of a push or a pull request, for whom, and how it is told there. Pure: no network, no git."""
