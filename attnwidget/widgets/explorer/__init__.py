"""Explorer: all figures of one text, linked in one widget."""
