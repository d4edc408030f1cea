"""Token regions in the pictures and sounds of an input."""
