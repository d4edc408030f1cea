"""What is given as a model: names, folders, adapters and wrappers."""
