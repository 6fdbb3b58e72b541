"""What words of an arm stand for: Go modules, and a knob whose values are arms."""
