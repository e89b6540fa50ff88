"""How many perceptrons are trained together."""

from itertools import pairwise

from .train import batch_size_of

# Above this many, nothing is left to share.
_LARGEST_STACK = 64
# What the models of a stack touch at every step; measured: beyond it the second-level cache is of
# no use any more, and the time for a model goes up again.
_BYTES_OF_STEP = 2**22
_BYTES_OF_RECORDS = 2**29
# Copies of each weight: itself, its gradient, a scratch and up to two in the optimizer.
_COPIES = 5


def count_together(network, n_jobs):
    """Number of models like this one that are trained in one stack.

    Parameters
    ----------
    network : Network or None
        None for a model that is trained by scikit-learn.
    n_jobs : int
        Stacks that are trained at once, among which the memory is shared.

    Returns
    -------
    count : int
    """
    if network is None:
        return 1
    n_rows, widths, item = len(network.X), network.widths, network.X.itemsize
    weights = sum((a + 1) * b for a, b in pairwise(widths))
    # A layer's values and their gradient.
    batch = 2 * batch_size_of(network.model, n_rows) * sum(widths)
    by_cache = _BYTES_OF_STEP // (item * (batch + _COPIES * weights))
    # Targets are there thrice: by record, in the order of the epoch, and as answered.
    by_memory = _BYTES_OF_RECORDS // n_jobs // (item * n_rows * (widths[0] + 3 * widths[-1]))
    return max(1, min(_LARGEST_STACK, by_cache, by_memory))
