"""HeadView: one head in full."""
