"""What hosts upload is stored and compared here; no part of it is built yet."""
