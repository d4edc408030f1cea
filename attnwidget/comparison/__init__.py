"""Comparison of the heads of two or more models over the same inputs."""
