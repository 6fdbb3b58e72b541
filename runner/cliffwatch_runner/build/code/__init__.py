"""A kernel's machine code: what of it is the same in two builds."""
