"""A builder: a container that builds and boots for a worker, with neither a network nor a secret, and is made anew after each job."""
