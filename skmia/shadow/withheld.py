"""Pools that keep less than they were fitted to keep."""

import copy

import numpy as np

from .._core.needs import LABELS


def without(pool, what, records):
    """Return the pool without something that it keeps.

    Parameters
    ----------
    pool : ShadowPool
        Fitted; not changed.
    what : {"auto", "models", "outputs", "gradients"}, tuple or Signal
        As in the ``keeps`` of :class:`skmia.base.Needs`.
    records : Records
        All records of the pool.

    Returns
    -------
    less : ShadowPool or None
        Pool that keeps less. None if there is no such pool, as no signal would be left to compare.
    """
    if what in ("gradients", LABELS):
        return None  # the models have them
    less = copy.copy(pool)
    if what == "models":
        if "outputs" in pool.keeps and pool.classes_ is not None and pool.outputs_ is None:
            answers = pool.answers(records)
            less.outputs_ = np.empty(answers.shape, np.float32)
            less.outputs_[:, pool.locate(records)] = answers
        less.estimators_ = None
    elif what == "outputs":
        less.outputs_ = less.estimators_ = None
    else:
        gone = pool.locate_signal(what).place
        if len(pool.stored_) == 1:
            return None
        for name in ("stored_", "_smoothings"):
            setattr(less, name, [part for k, part in enumerate(getattr(pool, name)) if k != gone])
        less.signals_ = pool.signals_[[k for k in range(len(pool.stored_)) if k != gone]]
    return less
