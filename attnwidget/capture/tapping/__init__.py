"""The tap: attention read from a running model, and changed on the way."""
