"""Forgetting by training on wrong labels."""

from dataclasses import dataclass

from ...._core.containers import take_rows
from ...._core.sklearn import at_least
from ._base import Forgetting
from ._further import copy_model, train_further, why_not_further


@dataclass(frozen=True)
class Relabeling(Forgetting):
    """Train the model on the forgotten records with random labels, then on those that stay.

    It is ``unlearn="relabel"`` of :func:`~skmia.games.unlearning_game`. The labels are drawn from
    the labels of the records that stay. The model is a net of skorch, or an estimator or the last
    step of a Pipeline with ``partial_fit``.

    Parameters
    ----------
    n_wrong : int, default=1
        Number of passes over the forgotten records, with the same random labels.
    n_epochs : int, default=2
        Number of passes over the records that stay, afterwards.

    See Also
    --------
    NegativeWeights : Keeps the labels and reverses the steps.
    """

    n_wrong: int = 1
    n_epochs: int = 2

    _parameter_constraints = {"n_wrong": [at_least(1)], "n_epochs": [at_least(0)]}

    def _why_not(self, estimator):
        return why_not_further(estimator)

    def _forget(self, model, records, keep, forget, rng):
        model = copy_model(model)
        wrong = rng.choice(records.y[keep], len(forget))
        train_further(model, take_rows(records.X, forget), wrong, self.n_wrong, rng, whole=True)
        train_further(model, take_rows(records.X, keep), records.y[keep], self.n_epochs, rng)
        return model
