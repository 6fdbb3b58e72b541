"""Where code lies: kernels in several layouts, and head matched to base's."""
