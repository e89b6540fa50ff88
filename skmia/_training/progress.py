"""A progress bar of models, which also moves while many of them are trained together."""

from time import monotonic

from .._core.progress import make_bar

# Models of a group that are being trained count in part, so that the count is not an integer.
_FORMAT = "{l_bar}{bar}| {n:.0f}/{total_fmt} [{elapsed}<{remaining}{postfix}]"
_SECONDS_BETWEEN_MOVES = 1.0  # at least; a log gets fewer lines


class Progress:
    """The progress of a job, as far as this process knows of it.

    Parameters
    ----------
    bar : tqdm
        Bar with one unit per model.
    """

    def __init__(self, bar):
        self._bar, self._finished, self._last = bar, set(), monotonic()
        self._seconds = max(_SECONDS_BETWEEN_MOVES, bar.mininterval)

    def finish(self, k):
        """Count a model as finished; a model that appears twice counts once."""
        self._finished.add(k)
        self._move(len(self._finished), "")

    def show(self, n_models, what, i, n):
        """Show how far the group at work has come.

        Parameters
        ----------
        n_models : float
            Part of the training of the group that is done, as a number of models.
        what : str
            What is counted, such as "epoch".
        i, n : int
            How many of them are done, and their total number.
        """
        if self._is_due():
            self._move(len(self._finished) + n_models, f"{what} {i} of {n}")

    def _is_due(self):
        return monotonic() - self._last >= self._seconds

    def _move(self, n, text):
        # The bar does not go back if a group is trained again in halves.
        self._bar.n = max(self._bar.n, min(n, self._bar.total))
        self._bar.set_postfix_str(text, refresh=False)
        if self._is_due():
            self._last = monotonic()
            self._bar.refresh()

    def part(self, first, n_models):
        """Return a function that shows the progress of models that are trained at once.

        Parameters
        ----------
        first : int
            Number of models of the group that were trained before them.
        n_models : int
            Number of these models.
        """
        return lambda share, what, i, n: self.show(first + share * n_models, what, i, n)


def run_visibly(plan, job, verbose, desc, checkpoint=None):
    """Run a plan with a progress bar, if it is wanted.

    Without a bar tqdm is not called: even a bar that is disabled takes a lock that forked processes
    share, and if one of them is killed in that moment, the others wait for it forever.

    Parameters
    ----------
    plan : Plan
        Plan of the training.
    job : Job
        Job to run.
    verbose : int
        Verbosity level; a bar is shown if it is positive.
    desc : str
        What is counted.
    checkpoint : FolderCheckpoint or MemoryCheckpoint, default=None
        Open checkpoint.

    Returns
    -------
    results : iterable of (int, Kept)
    """
    return _with_bar(plan, job, desc, checkpoint) if verbose else plan.run(job, checkpoint)


def _with_bar(plan, job, desc, checkpoint):
    with make_bar(desc, job.n_models, _FORMAT) as bar:
        progress = Progress(bar)
        for k, kept in plan.run(job._replace(progress=progress), checkpoint):
            progress.finish(k)
            yield k, kept
