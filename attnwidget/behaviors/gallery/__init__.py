"""Figure of several heads, each with texts and words of its own."""
