"""Parts of the Go benchmark format: names, context, failures, result lines, writing."""
