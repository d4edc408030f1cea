"""One pass over many inputs: accumulators, batches, resume files, workers and progress.

`measure` keeps the tap open over a batch. The maps of each layer go to the accumulators, and are
released before the next layer. An accumulator is a dictionary of float64 sums. Merging is therefore
addition, a resume file is a file of arrays, and a restart gives the same bits. Each batch starts
from empty sums, and the sums are added in the order of the batches. Workers therefore give the same
bits too (`corpus/shards.py` sends the work, `corpus/worker.py` answers). Most accumulators are
means over segments, and only state the values of one layer for each segment (`SegmentMeans`).
Segments of similar length share a batch, and padding changes no number by more than 1e-6.
"""
