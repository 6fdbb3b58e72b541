"""Takes in what hosts send: held against its form, the plan and its lease, and stored once."""
