"""What is known of GitHub: installations, deliveries, pull requests, and what was asked and posted for them."""
