"""What the kernel's `bench` prints: lines, the kinds of them, and what a run of it measured."""
