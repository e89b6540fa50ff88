"""A progress bar for those who ask for one."""

from tqdm import tqdm


def show_progress(results, verbose, desc, total=None):
    """Return the results with a progress bar around them, or as they are if it is not wanted.

    Without a bar tqdm is not called: even a bar that is disabled takes a lock that forked processes
    share, and if one of them is killed in that moment, the others wait for it forever.

    Parameters
    ----------
    results : iterable
        What is iterated over.
    verbose : int
        Verbosity level; a bar is shown if it is positive.
    desc : str
        What is counted.
    total : int, default=None
        Number of results; needed if they have no length.

    Returns
    -------
    results : iterable
    """
    return tqdm(results, desc=desc, total=total) if verbose else results
