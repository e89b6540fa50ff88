"""Forgetting by noise."""

from dataclasses import dataclass

import numpy as np

from ...._core.skorch_nets import is_skorch
from ._base import Forgetting
from ._further import copy_model, last_step

_ATTRIBUTES = "coef_", "intercept_", "coefs_", "intercepts_"


@dataclass(frozen=True)
class WeightNoise(Forgetting):
    """Add normal noise to the weights of the model.

    It is ``unlearn="noise"`` of :func:`~skmia.games.unlearning_game`. The model, or the last step
    of a Pipeline, is a linear model or a perceptron of scikit-learn, or a net of skorch.

    Parameters
    ----------
    scale : float, default=0.3
        Standard deviation of the noise, in standard deviations of the weights of each array.

    See Also
    --------
    FineTuning : Changes the weights by further training.
    """

    scale: float = 0.3

    def _forget(self, model, records, keep, forget, rng):
        model = copy_model(model)
        last = last_step(model)
        if is_skorch(last):
            self._shake_net(last, rng)
            return model
        held = [name for name in _ATTRIBUTES if hasattr(last, name)]
        if not held:
            raise TypeError(
                'unlearn="noise" needs a model with weights (coef_, coefs_) or a net of skorch; '
                f"got {type(last).__name__}. Pass a function unlearn(model, records, keep, forget, "
                "rng) instead."
            )
        for name in held:
            setattr(last, name, self._shake(getattr(last, name), rng))
        return model

    def _shake(self, weights, rng):
        if isinstance(weights, list):
            return [self._shake(part, rng) for part in weights]
        weights = np.asarray(weights)
        spread = np.std(weights) if weights.size > 1 else np.abs(weights).max(initial=0.0)
        noise = self.scale * spread * rng.normal(size=weights.shape)
        return np.asarray(weights + noise, dtype=weights.dtype, order="C")

    def _shake_net(self, net, rng):
        import torch

        with torch.no_grad():
            for weights in net.module_.parameters():
                shaken = self._shake(weights.cpu().numpy(), rng)
                weights.copy_(torch.as_tensor(shaken))
