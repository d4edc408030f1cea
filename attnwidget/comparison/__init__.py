"""Heads of two or more models, compared over the same inputs."""
