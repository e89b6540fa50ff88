"""Number of perceptrons that are trained together."""

from itertools import pairwise

from .train import batch_size_of

# More models do not reduce the overhead any further.
_LARGEST_STACK = 64
# Memory that the models of a stack touch in every step. Measurements show that a larger stack does
# not fit the second-level cache, and the time per model rises again.
_BYTES_OF_STEP = 2**22
_BYTES_OF_RECORDS = 2**29
# Arrays per weight: the weight, its gradient, a scratch array and up to two in the optimizer.
_COPIES = 5


def count_together(network, n_jobs):
    """Return the number of models like this one that are trained in one stack.

    Parameters
    ----------
    network : Network or None
        One of the models; None for a model that is trained by scikit-learn.
    n_jobs : int
        Number of stacks that are trained at the same time and share the memory.

    Returns
    -------
    count : int
    """
    if network is None:
        return 1
    n_rows, widths, item = len(network.X), network.widths, network.X.itemsize
    weights = sum((a + 1) * b for a, b in pairwise(widths))
    # The activations of each layer and their gradients.
    batch = 2 * batch_size_of(network.model, n_rows) * sum(widths)
    by_cache = _BYTES_OF_STEP // (item * (batch + _COPIES * weights))
    # There are three arrays of targets: by record, in the order of the epoch, and the outputs.
    by_memory = _BYTES_OF_RECORDS // n_jobs // (item * n_rows * (widths[0] + 3 * widths[-1]))
    return max(1, min(_LARGEST_STACK, by_cache, by_memory))
