"""What the model loses without a head, where the behaviour of the head applies."""
