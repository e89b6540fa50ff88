"""Result of an audit of epsilon."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from .._core.metric_inputs import check_bits, check_finite_vector
from .._core.numbers import SMALLEST, check_count, check_number

MULTI_RUN = (
    "runs are independent of each other; those with the canary differ from those without in the "
    "canary alone; the score of a run was fixed before the runs that it is judged on."
)
COINS = (
    "runs are independent of each other, and a fair coin decided for each of them whether it had "
    "the canary; those with the canary differ from those without in the canary alone."
)
ONE_RUN = (
    "each canary took part by an independent fair coin; scores do not depend on the coins but "
    "through what was trained."
)
GAUSSIAN = (
    "what an attacker can reach follows the trade-off curve of two normal laws, of some mu; this "
    "is a model of the mechanism and was not tested; moreover, "
)
INDEPENDENT = (
    "each canary is answered independently of the others by {family}, with the same parameter; "
    "this is a model of the mechanism and was not tested; moreover, "
)


def check_delta(delta):
    """Return delta, a number in [0, 1)."""
    return float(check_number(delta, "delta", "0 or more and below 1", 0, np.nextafter(1, 0)))


def choose_audited_delta(delta, is_gaussian):
    """Return delta; a Gaussian trade-off has no finite epsilon at a delta of 0."""
    if delta is None:
        return 1e-5 if is_gaussian else 0.0
    if check_delta(delta) == 0 and is_gaussian:
        raise ValueError(
            "A Gaussian trade-off has no finite epsilon at delta=0; pass a larger one."
        )
    return float(delta)


def check_copies(n_copies):
    """Return the number of times that the canary was inserted."""
    return check_count(n_copies, "n_copies")


def check_coins(y_true, y_score):
    """Return coins and scores of canaries; the coins may by chance all be equal."""
    coins, scores = check_bits(y_true, "y_true"), check_finite_vector(y_score, "y_score")
    if len(coins) != len(scores) or not len(coins):
        raise ValueError(
            "y_true and y_score need one value for each of at least one canary; got "
            f"{len(coins)} and {len(scores)}."
        )
    return coins, scores


def noise_of_means(noise_multiplier, max_grad_norm, batch_size):
    """Standard deviation that noise on the sum of clipped gradients stands for, a root of them."""
    check_number(noise_multiplier, "noise_multiplier", "finite and 0 or more", 0)
    check_number(max_grad_norm, "max_grad_norm", "finite and above 0", SMALLEST)
    check_number(batch_size, "batch_size", "an integer of 1 or more", 1, whole=True)
    return float(noise_multiplier) * float(max_grad_norm) / float(batch_size) ** 0.5


@dataclass(frozen=True)
class EpsilonBound:
    """Lower bound of epsilon, and its basis.

    Attributes
    ----------
    epsilon : float
        Lower bound of epsilon in nats, 0 or more. 0 means that nothing was found.
    confidence_level : float
        With this probability or more the bound is below the truth, if the assumption holds.
    delta : float
        The delta at which epsilon is stated.
    method : str
        Method by which the bound was computed.
    assumption : str
        Assumption under which the bound holds, as a sentence.
    counts : dict of str to int
        Counts that the bound is computed from.
    threshold : float or None
        Scores from this value on were predicted as members; None without a single threshold.
    mu : float or None
        Lower bound of mu, where a Gaussian trade-off was assumed.
    epsilon_high : float or None
        The other end of a credible interval, where it is one.
    largest : float or None
        Highest possible bound with these runs and settings; None for a credible interval.
    guesses : DataFrame or None
        Guesses about the canaries of one run: ``canary`` (its position), ``guess`` ("in" or "out"),
        ``score`` and ``correct``; None for other bounds.
    """

    epsilon: float
    confidence_level: float
    delta: float
    method: str
    assumption: str
    counts: dict[str, int] = field(default_factory=dict)
    threshold: float | None = None
    mu: float | None = None
    epsilon_high: float | None = None
    largest: float | None = None
    guesses: pd.DataFrame | None = field(default=None, compare=False, repr=False)

    def summary(self) -> str:
        """Summarize the bound in words.

        Returns
        -------
        text : str
        """
        level = f"{self.confidence_level:.6g}"
        if self.epsilon_high is None:
            found = f"epsilon >= {self.epsilon:.4g} at confidence {level}"
        else:
            found = (
                f"epsilon above {self.epsilon:.4g} with posterior probability {level}, and below "
                f"{self.epsilon_high:.4g} with the same"
            )
        if self.mu is not None:
            found += f" (mu >= {self.mu:.4g})"
        counts = ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in self.counts.items())
        return (
            f"{found}, delta = {self.delta:.3g}\n"
            f"Method: {self.method}.\n"
            f"Assumption: {self.assumption}\n"
            f"Counts: {counts}.{self._describe_largest()}"
        )

    def _describe_largest(self):
        if self.largest is None:
            return ""
        if self.largest <= 0:
            return "\nNothing could have been found with so few of them."
        reached = "; it was." if self.epsilon >= self.largest else "."
        return f"\nAt most {self.largest:.3g} could have been found with these counts{reached}"
