"""Pools that keep less than they were fitted to keep."""

import copy

import numpy as np


def without(pool, what, records):
    """The same pool without something that it keeps.

    Parameters
    ----------
    pool : ShadowPool
        Fitted; not changed.
    what : {"auto", "models", "outputs"} or tuple
        As in the ``keeps`` of :class:`skmia.base.Needs`.
    records : Records
        All records of the pool.

    Returns
    -------
    less : ShadowPool or None
        None where nothing would be left to compare.
    """
    less = copy.copy(pool)
    if what == "models":
        if pool.classes_ is not None and pool.outputs_ is None:
            answers = pool.answers(records)
            less.outputs_ = np.empty(answers.shape, np.float32)
            less.outputs_[:, pool.locate(records)] = answers
        less.estimators_ = None
    elif what == "outputs":
        less.outputs_ = less.estimators_ = None
    else:
        gone = 1.0 if what == "auto" else what[1]
        kept = [t for t, one in enumerate(pool.temperatures_) if one != gone]
        if not kept:
            return None
        less.temperatures_ = tuple(pool.temperatures_[t] for t in kept)
        less.signals_, less.resolution_ = pool.signals_[kept], pool.resolution_[kept]
        less._fallback_steps = [pool._fallback_steps[t] for t in kept]
    return less
