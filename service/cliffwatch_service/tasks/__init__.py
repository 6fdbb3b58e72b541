"""What happens in the background, in a process of its own."""
