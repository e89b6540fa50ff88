"""Forgetting nothing."""

from dataclasses import dataclass

from ._base import Forgetting


@dataclass(frozen=True)
class NoUnlearning(Forgetting):
    """Forget nothing: the model stays as it is, which a game must find.

    It is ``unlearn="noop"`` of :func:`~skmia.games.unlearning_game`.

    See Also
    --------
    Retraining : The opposite, which a game must not find.
    """

    def _forget(self, model, records, keep, forget, rng):
        return model
