"""What is stored about GitHub: installations, deliveries, pull requests, and tokens of jobs."""
