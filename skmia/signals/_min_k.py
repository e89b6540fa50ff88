"""Signals of the least probable tokens of a text."""

from dataclasses import dataclass

import numpy as np

from .._core.numbers import SMALLEST, check_number
from ._tokens import TokenSignal, mean_of_lowest


def check_share(share, name="share"):
    """Check a share of tokens."""
    check_number(share, name, "a fraction above 0 and of at most 1", SMALLEST, 1)


@dataclass(frozen=True)
class MinK(TokenSignal):
    r"""Min-K%: mean log-probability of the least probable tokens of a text, in nats.

    .. math::

        \frac1{|E|} \sum_{x_t \in E} \log p(x_t | x_{<t}),

    where E are the :math:`k\%` of the tokens with the lowest probability (rounded down, at least
    one). A text that was trained on has fewer tokens that surprise the model. Source: Shi et al.
    (2024), Detecting pretraining data from large language models.

    Parameters
    ----------
    share : float, default=0.2
        Share of the tokens, in (0, 1]; 1 is the mean log-likelihood.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.memorization import TokenOutputs
    >>> from skmia.signals import MinK
    >>> outputs = TokenOutputs([[-1.0, -4.0, -2.0, -3.0]])
    >>> MinK(share=0.5)(outputs, [0])
    array([-3.5])
    """

    share: float = 0.2
    name = "min_k"

    def __post_init__(self):
        check_share(self.share)

    def _measure(self, outputs):
        return mean_of_lowest(outputs.log_proba, self.share)


@dataclass(frozen=True)
class MinKPlusPlus(TokenSignal):
    r"""Min-K%++: like :class:`MinK`, of log-probabilities that are standardized at each position.

    .. math::

        \frac1{|E|} \sum_{x_t \in E} \frac{\log p(x_t | x_{<t}) - \mu_t}{\sigma_t},

    where :math:`\mu_t` and :math:`\sigma_t` are the mean and the standard deviation of
    :math:`\log p(z | x_{<t})` over tokens z drawn from the model's own prediction, and E are the
    :math:`k\%` of tokens with the lowest such values. Where all tokens are equally probable, the
    value is 0. Source: Zhang et al. (2025), Min-K%++: improved baseline for detecting pre-training
    data from large language models.

    Parameters
    ----------
    share : float, default=0.2
        Share of the tokens, in (0, 1].

    Examples
    --------
    >>> from skmia.memorization import TokenOutputs
    >>> from skmia.signals import MinKPlusPlus
    >>> outputs = TokenOutputs([[-1.0, -4.0]], mean=[[-2.0, -2.0]], std=[[1.0, 0.5]])
    >>> MinKPlusPlus(share=1.0)(outputs, [0])  # the mean of 1 and -4
    array([-1.5])
    """

    share: float = 0.2
    name = "min_k_plus_plus"
    _needs_moments = True

    def __post_init__(self):
        check_share(self.share)

    def _measure(self, outputs):
        # The deviation of a uniform prediction is 0 up to the rounding of single precision.
        is_flat = outputs.std <= 1e-6
        above = (outputs.log_proba - outputs.mean) / np.where(is_flat, 1.0, outputs.std)
        return mean_of_lowest(np.where(is_flat, 0.0, above), self.share)
