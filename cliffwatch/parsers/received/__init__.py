"""What the way of an output did to its text, undone: mail, and the logs of CI systems."""
