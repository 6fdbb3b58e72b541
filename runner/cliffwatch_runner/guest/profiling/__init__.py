"""Recording where the time of cases goes, by perf in the guest and on the host."""
