"""HeadView: attention maps of one or several heads."""
