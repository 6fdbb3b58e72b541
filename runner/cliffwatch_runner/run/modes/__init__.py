"""What a mode adds to a run: a walltime host is examined, open cases are confirmed, both modes follow each other."""
