"""Figures as pictures and files: drawn by the page's own code, in an engine without a page."""
