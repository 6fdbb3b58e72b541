"""Cliffwatch: continuous benchmarking for the Linux BPF subsystem.

This distribution is the pure part: words, catalogue, parsers, statistics, comparison and reports. Below
its command it starts no process, opens no connection and reads no clock.
"""

__version__ = "0.1.0"
