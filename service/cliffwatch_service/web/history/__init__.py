"""The pages of series and of regressions."""
