"""What a model answers: probabilities, losses, and the places of the answers."""
