"""The training engine: K clones of an estimator on K subsets of the records, and what is kept."""
