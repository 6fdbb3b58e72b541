"""The catalogue: suites with their benchmarks, cases and metrics, read from suites/*/suite.toml."""
