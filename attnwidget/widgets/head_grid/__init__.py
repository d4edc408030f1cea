"""HeadGrid: all heads at once."""
