"""Model sources: names, folders, adapters and wrappers."""
