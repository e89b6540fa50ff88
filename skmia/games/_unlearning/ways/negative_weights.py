"""Forgetting by steps in the opposite direction."""

from dataclasses import dataclass

from ...._core.containers import take_rows
from ...._core.sklearn import at_least
from ._base import Forgetting
from ._further import copy_model, step_back, train_further, why_not_back


@dataclass(frozen=True)
class NegativeWeights(Forgetting):
    """Pass once over the forgotten records with weight -1, then train on those that stay.

    It is ``unlearn="negative"`` of :func:`~skmia.games.unlearning_game`. The first pass increases
    the loss of the forgotten records (gradient ascent). The model is a net of skorch, or an
    estimator or the last step of a Pipeline whose ``partial_fit`` takes ``sample_weight``.

    Parameters
    ----------
    n_epochs : int, default=1
        Number of passes over the records that stay, afterwards.

    See Also
    --------
    Relabeling : Trains on random labels instead.
    """

    n_epochs: int = 1

    _parameter_constraints = {"n_epochs": [at_least(0)]}

    def _why_not(self, estimator):
        return why_not_back(estimator)

    def _forget(self, model, records, keep, forget, rng):
        model = copy_model(model)
        step_back(model, take_rows(records.X, forget), records.y[forget], rng)
        train_further(model, take_rows(records.X, keep), records.y[keep], self.n_epochs, rng)
        return model
