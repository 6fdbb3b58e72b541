"""Records where cases spend their time, with perf in the guest and on the host."""
