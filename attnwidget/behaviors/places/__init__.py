"""Word pairs of a corpus that match a query, and the weights of all heads between them."""
