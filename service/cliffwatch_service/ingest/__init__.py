"""Takes in what hosts send: checked against its form, the plan and its lease, and stored once."""
