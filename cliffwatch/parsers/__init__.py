"""One total function per input format."""
