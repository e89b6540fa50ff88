"""Result of an audit of epsilon."""

from dataclasses import dataclass, field

import pandas as pd


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
