"""Cases whose builds did not change: what cases execute, what a change can touch, what is left out."""
