"""Links of heads in a corpus: the strongest, random samples, and places that fit a query."""
