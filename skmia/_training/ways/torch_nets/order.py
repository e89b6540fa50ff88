"""Which records each model sees in which batch: the draws of torch's DataLoader, one by one."""

import torch


class BatchOrder:
    """The batches of one model, drawn from a generator of its own.

    A DataLoader draws a seed when it is iterated, whether or not it uses it, and one more for the
    permutation where it shuffles; the validation set takes its seed after the last batch.

    Parameters
    ----------
    generator : torch Generator
        In the state in which the model's training starts.
    n_rows : int
        Training records.
    shuffle : bool
        Whether each epoch has an order of its own.
    has_valid : bool
        Whether a validation set is passed through after each epoch.
    """

    def __init__(self, generator, n_rows, shuffle, has_valid):
        self.generator, self.n_rows = generator, n_rows
        self.shuffle, self.has_valid = shuffle, has_valid

    def _draw_seed(self):
        return torch.empty((), dtype=torch.int64).random_(generator=self.generator).item()

    def begin_epoch(self):
        """Positions of the training records in the order of the epoch; None for their own."""
        self._draw_seed()
        if not self.shuffle:
            return None
        seed = self._draw_seed()
        return torch.randperm(self.n_rows, generator=torch.Generator().manual_seed(seed))

    def end_epoch(self):
        """Draw what the validation set draws."""
        if self.has_valid:
            self._draw_seed()


def plan_batches(n_rows, batch_size, drop_last):
    """Batches of one epoch, as models of different numbers of records take them together.

    Parameters
    ----------
    n_rows : list of int
        Training records of each model, in ascending order, so that the models that make a batch
        of one size lie next to each other.
    batch_size : int
        Records of a full batch; -1 for all.
    drop_last : bool
        Whether a last batch that is not full is left out.

    Returns
    -------
    batches : list of list of (slice, slice)
        For each batch of the epoch the models and the records, in groups of equal size.
    """
    batches = []
    n_rows = torch.as_tensor(n_rows)
    widest = int(n_rows.max())
    full = widest if batch_size == -1 else batch_size
    for start in range(0, widest, full):
        sizes = (n_rows - start).clamp(0, full)
        if drop_last and batch_size != -1:
            sizes[sizes < full] = 0
        groups, stops = [], torch.cumsum(torch.unique_consecutive(sizes, return_counts=True)[1], 0)
        first = 0
        for stop in stops.tolist():
            size = int(sizes[first])
            if size:
                groups.append((slice(first, stop), slice(start, start + size)))
            first = stop
        batches.append(groups)
    return batches
