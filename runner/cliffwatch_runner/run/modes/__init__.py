"""What a mode adds to a run: examining a walltime host, confirming open cases, running both modes."""
