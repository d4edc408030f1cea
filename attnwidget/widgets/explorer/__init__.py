"""Explorer: every figure of one text."""
