"""A kernel's machine code: which parts are the same in two builds."""
