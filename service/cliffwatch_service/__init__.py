"""The Cliffwatch service: it stores what hosts measure, compares it and publishes the results."""
