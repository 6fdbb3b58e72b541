"""A builder: a container that builds and boots for a worker.

It has no network and no secret, and each job gets a new one.
"""
