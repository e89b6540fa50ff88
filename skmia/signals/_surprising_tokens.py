"""Signal of the tokens that a model finds surprising."""

from dataclasses import dataclass

import numpy as np

from .._core.numbers import check_number
from ._min_k import check_share
from ._tokens import TokenSignal, count_lowest, mean_of_lowest


@dataclass(frozen=True)
class SurprisingTokens(TokenSignal):
    r"""Mean log-probability of the tokens on which the model is certain but wrong, in nats.

    A token counts if the prediction has an entropy below ``entropy`` and the token is among the
    share of the least probable tokens of its text:

    .. math::

        \frac1{|S|} \sum_{x_t \in S} \log p(x_t | x_{<t}), \qquad
        S = \{x_t \in E : H_t < \varepsilon\},

    with E as in :class:`MinK`. If no token counts, all of E do. Source: Zhang and Wu (2024),
    Adaptive pre-training data detection for large language models via surprising tokens.

    Parameters
    ----------
    share : float, default=0.4
        Share of the tokens, in (0, 1].
    entropy : float, default=2.0
        Largest entropy of a certain prediction, in nats.

    Examples
    --------
    >>> from skmia.memorization import TokenOutputs
    >>> from skmia.signals import SurprisingTokens
    >>> moments = {"mean": [[-1.0, -1.0, -3.0, -1.0]], "std": [[1.0, 1.0, 1.0, 1.0]]}
    >>> outputs = TokenOutputs([[-1.0, -4.0, -5.0, -2.0]], **moments)
    >>> SurprisingTokens(share=0.75, entropy=2.0)(outputs, [0])  # the mean of -4 and -2
    array([-3.])
    """

    share: float = 0.4
    entropy: float = 2.0
    name = "surprising_tokens"
    _needs_moments = True

    def __post_init__(self):
        check_share(self.share)
        check_number(self.entropy, "entropy", "a number of nats of at least 0", 0)

    def _measure(self, outputs):
        order = np.argsort(outputs.log_proba, axis=1, kind="stable")  # NaN comes last
        rank = np.argsort(order, axis=1, kind="stable")
        lowest = rank < count_lowest(outputs.log_proba, self.share)[:, None]
        counts = lowest & (-outputs.mean < self.entropy)
        found = np.where(counts, outputs.log_proba, 0.0).sum(axis=1)
        n_found = counts.sum(axis=1)
        otherwise = mean_of_lowest(outputs.log_proba, self.share)
        return np.where(n_found > 0, found / np.maximum(1, n_found), otherwise)
