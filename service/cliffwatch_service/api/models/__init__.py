"""What the API answers, for its description: clients are generated from these."""
