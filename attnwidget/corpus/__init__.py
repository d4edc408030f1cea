"""One pass over many inputs: accumulators, batches, resume files, workers and progress.

`measure` keeps the tap open during a batch. It passes the maps of each layer to the accumulators
and releases them before the next layer. An accumulator is a dictionary of float64 sums. Merging is
therefore addition, a resume file is a file of arrays, and a restart gives bit-identical results.
Each batch starts from empty sums, and the sums are added in batch order, so workers also give
bit-identical results (`corpus/shards.py` sends the work, `corpus/worker.py` responds). Most
accumulators are means over segments, which only define the values of one layer for each segment
(`SegmentMeans`). Segments of similar length share a batch, and padding changes no number by more
than 1e-6.
"""
