"""Documents that Cliffwatch writes and reads (docs/formats.md): one typed model each, from which their JSON
Schemas are made.
"""
