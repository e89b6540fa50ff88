"""Forgetting by training again, which is exact."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from ...._core.asking import unwrap
from ...._core.containers import take_rows
from ...._core.sample_weights import fit_weighted, weights_for
from ...._core.seeding import seed_estimator
from ._base import Forgetting


def train_again(model, records, rows, rng):
    """Train a clone of a model on some records, with new seeds."""
    fresh = clone(unwrap(model))
    seed_estimator(fresh, np.random.SeedSequence(rng.integers(2**32, size=4).tolist()))
    weights = weights_for(fresh, records)
    weights = None if weights is None else weights[rows]
    return fit_weighted(fresh, take_rows(records.X, rows), records.y[rows], weights)


@dataclass(frozen=True)
class Retraining(Forgetting):
    """Forget by training a new model on the records that stay: exact, and the control of a game.

    It is ``unlearn="retrain"`` of :func:`~skmia.games.unlearning_game`.

    See Also
    --------
    SISA : Exact as well, at a part of the cost.
    """

    def _forget(self, model, records, keep, forget, rng):
        return train_again(model, records, keep, rng)
