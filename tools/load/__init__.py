"""Load on a service of its own: made-up but realistic data, and how fast it is answered."""
