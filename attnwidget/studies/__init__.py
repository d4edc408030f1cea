"""Analyses over many inputs: each streams segments through capture and kernels to a HeadResult."""
