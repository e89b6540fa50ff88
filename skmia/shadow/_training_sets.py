"""Training sets of the shadow models, and the entropy from which they are drawn."""

from numbers import Integral

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_random_state

from .._core.asking import unwrap
from .._core.splits import compute_strata, draw_pairs


def draw_entropy(random_state, checkpoint):
    """Return the entropy of all seeds; the first k models are the same for every total.

    Parameters
    ----------
    random_state : int, RandomState instance or None
        If None, the entropy of the checkpoint is used again, so that its models remain valid.
    checkpoint : checkpoint or None
        Checkpoint of the pool.

    Returns
    -------
    entropy : list of int
        Four integers.
    """
    if random_state is None and checkpoint is not None:
        entropy = checkpoint.read_entropy()
        if entropy is not None:
            return entropy
    return check_random_state(random_state).randint(np.iinfo(np.int32).max, size=4).tolist()


def draw_training_sets(pool, records, seeds):
    """Draw the training set of each shadow model.

    Parameters
    ----------
    pool : ShadowPool
        Pool with the parameters of the sampling.
    records : Records of n records
        Records to draw from.
    seeds : SeedSequence
        Seeds of the draws.

    Returns
    -------
    subsets : ndarray of shape (n_estimators, n), dtype bool
        Training sets; with ``paired`` a set and its complement in turn.
    """
    if isinstance(pool.max_samples, Integral):
        n_samples = pool.max_samples
    else:
        n_samples = int(np.ceil(pool.max_samples * len(records)))
    n_draws = pool.n_estimators // 2 if pool.paired else pool.n_estimators
    strata = compute_strata(records.y, is_classifier(unwrap(pool.estimator)))
    draws = draw_pairs(records, strata, n_samples, seeds.spawn(n_draws))
    return np.concatenate(draws) if pool.paired else np.array([first for first, _ in draws])
