"""Training of those models of a job that a checkpoint does not hold yet."""

from contextlib import contextmanager


@contextmanager
def saying_what_is_kept(checkpoint, n_models):
    """Add to a KeyboardInterrupt a note on what has been kept.

    Parameters
    ----------
    checkpoint : FolderCheckpoint, MemoryCheckpoint or None
    n_models : int
        Number of models of the whole pool.
    """
    try:
        yield
    except KeyboardInterrupt as error:
        if checkpoint is not None:
            error.add_note(checkpoint.describe_kept(n_models))
        raise


def run_or_resume(plan, job, checkpoint):
    """Train the models of a job, except for those that a checkpoint holds.

    Parameters
    ----------
    plan : Plan
        How and where the models are trained.
    job : Job
        Job that the models belong to.
    checkpoint : FolderCheckpoint, MemoryCheckpoint or None
        Open checkpoint.

    Yields
    ------
    k, kept : int, Kept
        Number and results of each model, in any order. If a model appears twice, the last result
        counts.
    """
    missing = list(range(job.n_models))
    if checkpoint is None:
        yield from plan.way.run(job, missing, plan.where)
        return
    job = job._replace(states=checkpoint.states(), write=checkpoint.writer())
    # Each round collects the models that any process has finished meanwhile and trains the rest. A
    # damaged file is renamed by `load`, so its model is still missing and is trained in this round.
    while missing:
        for k in missing.copy():
            kept = checkpoint.load(k, _set_of(job, k))
            if kept is not None:
                missing.remove(k)
                yield k, kept
        models = checkpoint.unfinished(missing.copy())
        for k, kept in plan.way.run(job, models, plan.where):
            if job.write is None:
                checkpoint.save(k, kept, job.subsets[k])
            else:
                kept = checkpoint.load_written(k)
            if k in missing:
                missing.remove(k)
            yield k, kept
    checkpoint.close()


def _set_of(job, k):
    return job.subsets[k] if job.write is None else None
