"""Statistics on plain numbers. Imports numpy, scipy and itself only."""
