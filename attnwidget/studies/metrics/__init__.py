"""Metrics of heads, from one input or from a pass over segments."""
