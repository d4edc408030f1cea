"""PredictionView: what a model answers, and which heads the answer depends on."""
