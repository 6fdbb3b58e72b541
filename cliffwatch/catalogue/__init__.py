"""What is measured: suites, their benchmarks, cases and metrics, read from suites/*/suite.toml."""
