"""A stand-in of GitHub, written against its published OpenAPI description alone: a real HTTP server that
checks every request against the description, answers with the description's own examples and keeps state.

`stand_in(...)` of `server.py` starts one; `kept.py` is what it keeps and what tests change of it as
somebody else would; `faults.py` is what goes wrong; `webhooks.py` are the deliveries.
"""
