"""What is known of where sides were measured, and what may differ of it."""
