"""Families of mechanisms that answer each canary independently, by one parameter."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, ndtr

from .._core.tradeoff import privacy_budget

_N_CELLS = 8000  # of the law of one answer
_REACH = 10.0  # standard deviations beyond the means


class _Family:
    """What the bound of independent canaries asks of a family.

    ``law(parameter)`` gives the posterior errors of the best guess about one canary and their
    masses; ``epsilon(parameter, delta)`` the privacy of this member.
    """

    name: ClassVar[str]
    needs_delta: ClassVar[bool] = False  # because epsilon is infinite at a delta of 0


@dataclass(frozen=True)
class Gaussian(_Family):
    """Normal laws a distance of mu apart; a canary takes part with a probability of `rate`."""

    rate: float = 1.0
    needs_delta: ClassVar[bool] = True

    @property
    def name(self):
        return "a Gaussian mechanism" if self.rate == 1 else "a sub-sampled Gaussian mechanism"

    def law(self, mu):
        # The mass of a cell comes from the distribution functions, and the error from its middle.
        edges = np.linspace(-_REACH, mu + _REACH, _N_CELLS + 1)
        x = (edges[:-1] + edges[1:]) / 2
        inside = np.log(self.rate) + mu * x - mu**2 / 2
        log_ratio = np.logaddexp(np.log1p(-self.rate), inside) if self.rate < 1 else inside
        out, moved = np.diff(ndtr(edges)), np.diff(ndtr(edges - mu))
        return expit(-np.abs(log_ratio)), (2 - self.rate) * out + self.rate * moved

    def epsilon(self, mu, delta):
        return float(privacy_budget(delta, mu, self.rate))


@dataclass(frozen=True)
class Laplace(_Family):
    """Laplace noise; the parameter is the shift by a canary, in scales of the noise."""

    name: ClassVar[str] = "a Laplace mechanism"

    def law(self, shift):
        x = (np.arange(_N_CELLS) + 0.5) * (shift / _N_CELLS)
        mass = (np.exp(-x) + np.exp(x - shift)) / 4 * (shift / _N_CELLS)
        sure = (1 + np.exp(-shift)) / 2
        error = expit(-np.abs(np.append(2 * x - shift, shift)))
        return error, np.append(mass * ((1 - sure) / max(mass.sum(), 1e-300)), sure)

    def epsilon(self, shift, delta):
        return max(0.0, float(shift + 2 * np.log1p(-delta)))


@dataclass(frozen=True)
class EpsilonDelta(_Family):
    """Randomized response that tells the coin with a probability of delta."""

    delta: float
    name: ClassVar[str] = "randomized response that is exact with probability delta"

    def law(self, epsilon):
        return np.array([expit(-epsilon), 0.0]), np.array([1 - self.delta, self.delta])

    def epsilon(self, epsilon, delta):
        return float(epsilon)


FAMILIES = ("gaussian", "laplace", "epsilon_delta")


def make_family(name, delta, sample_rate):
    """Return the family of a name."""
    if name == "laplace":
        return Laplace()
    return Gaussian(float(sample_rate)) if name == "gaussian" else EpsilonDelta(delta)
