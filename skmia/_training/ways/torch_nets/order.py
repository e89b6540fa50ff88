"""Order of the records in the batches of each model, with the same draws as torch's DataLoader."""

from concurrent.futures import ThreadPoolExecutor

import torch


class BatchOrder:
    """The order of the records of one model, drawn from its own generator.

    An iterated DataLoader always draws a seed, even if it does not use it, and another one for the
    permutation if it shuffles. The seed of the validation set is drawn after the last batch.

    Parameters
    ----------
    generator : torch Generator
        Generator in its state at the start of the training.
    n_rows : int
        Number of training records.
    shuffle : bool
        Whether each epoch has its own order.
    has_valid : bool
        Whether a validation set is evaluated after each epoch.
    """

    def __init__(self, generator, n_rows, shuffle, has_valid):
        self.generator, self.n_rows = generator, n_rows
        self.shuffle, self.has_valid = shuffle, has_valid

    def _draw_seed(self):
        return torch.empty((), dtype=torch.int64).random_(generator=self.generator).item()

    def begin_epoch(self):
        """Return the seed of the order in the next epoch; None if the records stay in order."""
        self._draw_seed()
        return self._draw_seed() if self.shuffle else None

    def foresee(self):
        """Return the seed of the epoch after this one, if nothing else is drawn before it."""
        generator = torch.Generator()
        generator.set_state(self.generator.get_state())
        twin = BatchOrder(generator, self.n_rows, self.shuffle, self.has_valid)
        twin.end_epoch()
        return twin.begin_epoch()

    def end_epoch(self):
        """Draw the seed that the validation set would draw."""
        if self.has_valid:
            self._draw_seed()


class EpochOrders:
    """Orders of the records of many models in one epoch after the other.

    Parameters
    ----------
    orders : list of BatchOrder
        Seeds of the orders of each model.
    rows : list of Tensor
        Rows of the table that each model is trained on.
    ahead : bool
        Whether another thread draws the orders of the next epoch during an epoch. A GPU would have
        nothing to do while they are drawn.
    """

    def __init__(self, orders, rows, ahead):
        self._orders, self._rows = orders, rows
        self._thread = ThreadPoolExecutor(1) if ahead else None
        self._foreseen = None, None

    def begin_epoch(self):
        """Return rows of the table in the order of the epoch, shape (n_models, n_widest)."""
        seeds = [order.begin_epoch() for order in self._orders]
        foreseen, drawn = self._foreseen
        order = drawn.result() if foreseen == seeds else self._draw(seeds)
        if self._thread is not None:
            later = [order.foresee() for order in self._orders]
            self._foreseen = later, self._thread.submit(self._draw, later)
        return order

    def end_epoch(self):
        """Draw what is drawn after the last batch of an epoch."""
        for order in self._orders:
            order.end_epoch()

    def _draw(self, seeds):
        order = torch.zeros(len(self._rows), max(map(len, self._rows)), dtype=torch.int64)
        for k, (seed, rows) in enumerate(zip(seeds, self._rows, strict=True)):
            order[k, : len(rows)] = rows if seed is None else rows[_permute(len(rows), seed)]
        return order


def _permute(n, seed):
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed))


def plan_batches(n_rows, batch_size, drop_last):
    """Plan the batches of one epoch for models with different numbers of records.

    Parameters
    ----------
    n_rows : list of int
        Number of training records of each model, in ascending order, so that models with a batch of
        the same size are next to each other.
    batch_size : int
        Number of records of a full batch; -1 for all records.
    drop_last : bool
        Whether a last batch that is not full is left out.

    Returns
    -------
    batches : list of list of (slice, slice)
        For each batch of the epoch, groups of models whose batch has the same size, and the places
        of its records.
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


def count_batches(batches, n_models):
    """Return the number of batches of each model in an epoch, from :func:`plan_batches`."""
    counts = [0] * n_models
    for groups in batches:
        for models, _ in groups:
            for k in range(models.start, models.stop):
                counts[k] += 1
    return counts
