"""The tap: reading and editing attention in a running model."""
