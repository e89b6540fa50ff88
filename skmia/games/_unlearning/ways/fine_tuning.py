"""Forgetting by training on the records that stay, from the weights of the model."""

from dataclasses import dataclass

from ...._core.containers import take_rows
from ...._core.sklearn import at_least
from ._base import Forgetting
from ._further import copy_model, train_further, why_not_further


@dataclass(frozen=True)
class FineTuning(Forgetting):
    """Train the model further on the records that stay, in the hope that it forgets the others.

    It is ``unlearn="finetune"`` of :func:`~skmia.games.unlearning_game`. The model is a net of
    skorch, or an estimator or the last step of a Pipeline with ``partial_fit``.

    Parameters
    ----------
    n_epochs : int, default=10
        Number of passes over the records that stay.

    See Also
    --------
    NegativeWeights : Takes steps against the forgotten records first.
    """

    n_epochs: int = 10

    _parameter_constraints = {"n_epochs": [at_least(1)]}

    def _why_not(self, estimator):
        return why_not_further(estimator)

    def _forget(self, model, records, keep, forget, rng):
        model = copy_model(model)
        train_further(model, take_rows(records.X, keep), records.y[keep], self.n_epochs, rng)
        return model
