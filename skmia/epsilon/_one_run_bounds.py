"""The bounds from one run, each under its assumption."""

from dataclasses import dataclass
from typing import Literal

from numpy.typing import ArrayLike

from ._checks import check_coins, check_delta
from ._one_run import BOUNDS, needs_delta, one_run_epsilon_lower_bound
from ._result import EpsilonBound

_IF = {
    "order_statistics": "if canaries are answered independently by {family}",
    "gdp": "if the trade-off curve is one of Gaussian differential privacy",
    "any": "for any mechanism",
}
_FAMILIES = {
    "gaussian": "a Gaussian mechanism",
    "laplace": "a Laplace mechanism",
    "epsilon_delta": "randomized response",
}


@dataclass(frozen=True)
class OneRunBounds:
    """Lower bounds of epsilon from the same run, by what they assume.

    Attributes
    ----------
    any : EpsilonBound or None
        Bound for any mechanism; None if the delta is too large for the number of canaries.
    gdp : EpsilonBound or None
        Bound for mechanisms with a Gaussian trade-off curve; None at a delta of 0.
    order_statistics : EpsilonBound or None
        Bound for mechanisms of a family that answer canaries independently of each other; None for
        the Gaussian family at a delta of 0.
    family : str
        The family of the last one.
    """

    any: EpsilonBound | None
    gdp: EpsilonBound | None
    order_statistics: EpsilonBound | None
    family: str = "gaussian"

    def summary(self) -> str:
        """Print each bound beside its assumption.

        Returns
        -------
        text : str
        """
        found = {name: getattr(self, name) for name in _IF}
        lines = [
            f"epsilon >= {bound.epsilon:.4g} {_IF[name].format(family=_FAMILIES[self.family])} "
            f"({bound.counts['n_correct']} of {bound.counts['n_guesses']} guesses right)"
            for name, bound in found.items()
            if bound is not None
        ]
        given = next(bound for bound in found.values() if bound is not None)
        lines.append(f"Each at confidence {given.confidence_level:.6g}, delta = {given.delta:.3g}.")
        return "\n".join(lines)


def one_run_epsilon_bounds(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    family: Literal["gaussian", "laplace", "epsilon_delta"] = "gaussian",
    sample_rate: float = 1.0,
    delta: float = 1e-5,
    n_guesses: Literal["auto", "any"] | int | ArrayLike = "auto",
    confidence_level: float = 0.95,
) -> OneRunBounds:
    """Lower bounds of epsilon from one run, under three assumptions.

    The assumptions, not the guesses, make most of the difference. The bound for any mechanism
    always holds. The other two hold under a model of the mechanism that the audit does not test.

    Parameters
    ----------
    y_true : array-like of shape (n_canaries,)
        Coin flips: 1 for canaries that took part.
    y_score : array-like of shape (n_canaries,)
        Finite scores, higher means more likely in.
    family : {"gaussian", "laplace", "epsilon_delta"}, default="gaussian"
        Mechanism of the bound for independent canaries.
    sample_rate : float, default=1.0
        Probability with which a canary takes part in the step of a Gaussian mechanism.
    delta : float, default=1e-5
        The delta at which the bounds are stated, in [0, 1).
    n_guesses : "auto", "any", int or array-like of int, default="auto"
        Numbers of guesses, as in :func:`one_run_epsilon_lower_bound`; ``"any"`` is ``"auto"`` for
        the bounds that do not have it.
    confidence_level : float, default=0.95
        Confidence level of each bound, in (0, 1).

    Returns
    -------
    bounds : OneRunBounds
        The bounds by their names.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    See Also
    --------
    one_run_epsilon_lower_bound : One of them, and what they assume.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.epsilon import one_run_epsilon_bounds
    >>> rng = np.random.default_rng(0)
    >>> coins = rng.integers(2, size=1000)
    >>> scores = coins + rng.normal(size=1000)  # the truth is 4.38
    >>> print(one_run_epsilon_bounds(coins, scores).summary())
    epsilon >= 4.333 if canaries are answered independently by a Gaussian mechanism (411 of 500 ...)
    epsilon >= 2.753 if the trade-off curve is one of Gaussian differential privacy (92 of 100 ...)
    epsilon >= 1.812 for any mechanism (92 of 100 guesses right)
    Each at confidence 0.95, delta = 1e-05.
    """
    coins, _ = check_coins(y_true, y_score)
    delta, found = check_delta(delta), {}
    for bound in BOUNDS:
        if (delta == 0 and needs_delta(bound, family)) or (
            bound == "any" and 2 * len(coins) * delta > 1
        ):
            found[bound] = None
            continue
        is_any = isinstance(n_guesses, str) and n_guesses == "any"
        found[bound] = one_run_epsilon_lower_bound(
            y_true,
            y_score,
            bound=bound,
            family=family,
            sample_rate=sample_rate,
            delta=delta,
            n_guesses="auto" if is_any and bound != "any" else n_guesses,
            confidence_level=confidence_level,
        )
    return OneRunBounds(**found, family=family)
