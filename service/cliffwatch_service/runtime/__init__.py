"""The process that serves: its clock, its logs, its memory and the address that it listens at."""
