"""Forgetting by noise."""

from dataclasses import dataclass
from numbers import Real

import numpy as np

from ...._core.asking import unwrap
from ...._core.sklearn import Interval
from ...._core.skorch_nets import is_skorch
from ._base import Forgetting
from ._further import copy_model, last_step

_ATTRIBUTES = "coef_", "intercept_", "coefs_", "intercepts_"
# Modules whose models can have them, of the packages that are known.
_WITH_WEIGHTS = "linear_model", "neural_network", "svm", "discriminant_analysis"
_KNOWN = "sklearn", "skmia"
_NEEDED = (
    "it needs a model with weights (coef_, coefs_) or a net of skorch; got {}. Pass a function "
    "unlearn(model, records, keep, forget, rng) instead."
)


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

    _parameter_constraints = {"scale": [Interval(Real, 0, None, closed="left")]}

    def _why_not(self, estimator):
        last = last_step(unwrap(estimator))
        package, *rooms = type(last).__module__.split(".")
        if package not in _KNOWN or set(rooms) & set(_WITH_WEIGHTS):
            return None
        return _NEEDED.format(type(last).__name__)

    def _forget(self, model, records, keep, forget, rng):
        model = copy_model(model)
        last = last_step(model)
        if is_skorch(last):
            self._shake_net(last, rng)
            return model
        held = [name for name in _ATTRIBUTES if hasattr(last, name)]
        if not {"coef_", "coefs_"} & set(held):
            raise TypeError(
                f"{type(self).__name__} cannot be played: {_NEEDED.format(type(last).__name__)}"
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
