"""One pass over many inputs: accumulators, batches, resume files, workers and progress."""
