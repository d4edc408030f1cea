"""Figures as one HTML file that needs no kernel, no server and no network. Knows none of them."""
