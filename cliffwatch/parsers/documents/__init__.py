"""JSON outputs, one module per format, and outputs of other tools that are refused by name."""
