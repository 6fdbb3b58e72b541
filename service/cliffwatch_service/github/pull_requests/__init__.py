"""Pull requests: what they are now, what is measured of them, and what people ask for in them."""
