"""Documents that Cliffwatch reads and writes (docs/formats.md).

Each has a typed model, which also gives its JSON Schema.
"""
