"""What is built of the kernel's selftests of BPF: bench, and bench without lookups."""
