"""PredictionView: a model's predictions, and the effects of heads on them."""
