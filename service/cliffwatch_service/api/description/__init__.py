"""Completes the OpenAPI description: examples of bodies and answers, and what each operation refuses."""
