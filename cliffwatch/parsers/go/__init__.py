"""Parts of the Go benchmark format: failures, result lines, writing."""
