"""The job of a pool: its training sets, its seeds, and what is kept of each model."""

from numbers import Integral

import numpy as np
from sklearn.base import is_classifier

from .._core.asking import unwrap
from .._core.randomness import draw_integers
from .._core.sample_weights import weights_for
from .._core.splits import BlockDraws, PairDraws, compute_strata
from .._training.frozen import make_recipe
from .._training.job import Data, Job
from .._training.notes import warn_of_weights
from ._design import BLOCK
from ._keep import make_keeper
from ._lookup import augmented
from ._sets import DrawnSets


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
    return draw_integers(random_state)


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
    subsets : ndarray of shape (n_estimators, n), dtype bool, or DrawnSets
        Training sets; in a paired design a set and its complement in turn. Those of a pool on disk
        are drawn when they are asked for.

    Raises
    ------
    ValueError
        If the records are too few, or fewer than the half of a balanced design are asked for.
    """
    if isinstance(pool.max_samples, Integral):
        n_samples = pool.max_samples
    else:
        n_samples = int(np.ceil(pool.max_samples * len(records)))
    strata = compute_strata(records.y, is_classifier(unwrap(pool.estimator)))
    if pool.design == "balanced":
        if n_samples not in (len(records) // 2, (len(records) + 1) // 2):
            raise ValueError(
                'design="balanced" has each record IN for half of the models, which takes '
                f"max_samples=0.5; got {pool.max_samples}."
            )
        draw, n_used = BlockDraws(records, strata, BLOCK), BLOCK
    else:
        draw, n_used = PairDraws(records, strata, n_samples), 2 if pool.design == "paired" else 1
    sets = DrawnSets(draw, seeds.spawn(pool.n_estimators // n_used), n_used)
    return sets if pool.on_disk else np.asarray(sets)


def make_job(pool, records, entropy):
    """Make the job of training the models of a pool.

    Parameters
    ----------
    pool : ShadowPool
        Pool with its parameters.
    records : Records of n records
        Records of the pool.
    entropy : list of int
        Entropy of all seeds.

    Returns
    -------
    job : Job
    notes : tuple of str
        Sentences on how the models differ from the victim.
    """
    seeds = np.random.SeedSequence(entropy).spawn(1 + pool.n_estimators)
    estimator, notes = make_recipe(unwrap(pool.estimator), pool.refit_frozen)
    tables = [copy.X for copy in augmented(records, pool.augment)]
    job = Job(
        estimator=estimator,
        data=Data(tables, records.y, weights_for(estimator, records)),
        subsets=draw_training_sets(pool, records, seeds[0]),
        seeds=seeds[1:],
        keep=make_keeper(pool),
        n_jobs=pool.n_jobs,
        most_together=_limit(pool.batched),
    )
    return job, (*notes, *warn_of_weights(estimator, records))


def _limit(batched):
    return int(batched) if isinstance(batched, Integral) and batched > 1 else None


def describe_sampling(pool):
    """Return the parameters of the sampling, for a checkpoint."""
    return {"max_samples": pool.max_samples, "design": pool.design}
