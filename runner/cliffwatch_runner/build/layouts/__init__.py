"""Images of one kernel that differ only in where their code lies."""
