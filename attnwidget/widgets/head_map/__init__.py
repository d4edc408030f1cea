"""HeadMap: heads in the plane."""
