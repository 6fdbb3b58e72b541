"""One guest: how it is started, what runs in it, how it is watched, and what it leaves."""
