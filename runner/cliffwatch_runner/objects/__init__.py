"""BPF objects of the user's: read from a folder, with their inputs and recorded configurations."""
