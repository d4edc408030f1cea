"""One pass over many inputs: accumulators, batches, checkpoints, workers and progress."""
