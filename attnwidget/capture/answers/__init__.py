"""Model answers: probabilities, losses, and answer positions."""
