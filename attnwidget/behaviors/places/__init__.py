"""Places of a corpus that fit a query about words, and the weights of all heads there."""
