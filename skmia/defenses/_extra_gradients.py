"""Gradients of further rows that a function gives, in private training."""

import numpy as np

from .._core.matrix import check_matrix
from .._core.optional import import_optional


class ExtraGradients:
    """Draws gradients for each step as if they came from rows.

    Parameters
    ----------
    make : callable
        ``make(step, parameters)`` returns an array of shape (n_extra, n_parameters).
    randomness : PrivateRandomness
        Source of the coins.
    sample_rate : float
        Probability with which a row takes part in a step.
    n_turns : int or None
        Steps of an epoch: each gradient takes part in one of them. None for coins in each step.
    """

    def __init__(self, make, randomness, sample_rate, n_turns=None):
        self._make, self._randomness = make, randomness
        self._sample_rate, self._n_turns = sample_rate, n_turns
        self._step, self._turns = 0, None

    def draw(self, parameters):
        """Gradients of the step, a tensor of shape (n_drawn, size) for each parameter."""
        torch = import_optional("torch", "torch")
        flat = torch.cat([weights.detach().ravel() for weights in parameters]).cpu().numpy()
        made = check_matrix(
            self._make(self._step, flat),
            ensure_min_samples=0,
            dtype=np.float64,
            input_name="extra_gradients",
        )
        if made.shape[1] != len(flat):
            raise ValueError(
                f"extra_gradients must return gradients of {len(flat)} parameters; got an array of "
                f"shape {made.shape}."
            )
        taken = torch.from_numpy(made[self._choose(len(made))])
        self._step += 1
        return taken.split([weights.numel() for weights in parameters], dim=1)

    def _choose(self, n):
        """Which gradients take part in this step."""
        if self._n_turns is None:
            return self._randomness.coins(n, self._sample_rate)
        turn = self._step % self._n_turns
        if turn == 0:
            self._turns = np.floor(self._randomness.uniforms(n) * self._n_turns)
        if n != len(self._turns):
            raise ValueError(
                "With poisson_sampling=False, extra_gradients must return as many gradients in all "
                f"steps of an epoch; got {len(self._turns)} and {n}."
            )
        return self._turns == turn
