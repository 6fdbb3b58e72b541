"""What is detectable with so many boots, and how many it takes."""
