"""What the model loses without a head, where the behavior of the head applies."""
