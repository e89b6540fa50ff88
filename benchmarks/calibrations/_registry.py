"""What a promise is: a nominal rate, designs, and a function that simulates one design."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from zlib import crc32

import numpy as np
from scipy import stats

# The table has many rows, so a row must miss its nominal rate clearly before it fails.
CONFIDENCE_LEVEL = 0.99
SIDES = {"at least": "≥", "at most": "≤", "equal": "="}

PROMISES = {}


@dataclass(frozen=True)
class Promise:
    """A rate that the package promises, and how to simulate it.

    `simulate(rng, n_trials, **design)` returns either the pair (successes, trials), or an array
    with one value in [0, 1] for each independent trial.
    """

    text: str
    nominal: float
    side: str
    designs: Mapping
    n_trials: int
    simulate: Callable

    @property
    def name(self):
        return self.simulate.__name__

    @property
    def room(self):
        return self.simulate.__module__.rpartition(".")[2]


@dataclass(frozen=True)
class Measured:
    """A rate over independent trials, with its exact interval."""

    rate: float
    low: float
    high: float
    n_trials: int

    def verdict(self, nominal, side):
        too_low = self.high < nominal and side != "at most"
        too_high = self.low > nominal and side != "at least"
        return "fails" if too_low or too_high else "holds"


def promise(text, *, nominal, side="at least", designs=None, n_trials=1000):
    """Register a function that simulates a promise.

    Parameters
    ----------
    text : str
        What is promised, such as "auc_interval covers the AUC".

    nominal : float
        The promised rate of success.

    side : {"at least", "at most", "equal"}
        "at least" for coverage, "at most" for errors and p-values, "equal" for an estimate
        without bias.

    designs : dict of str to dict, default=None
        Keyword arguments of the function, by the text that describes them in the table.

    n_trials : int, default=1000
        Trials of each design in a full run.
    """
    if side not in SIDES:
        raise ValueError(f"side must be one of {', '.join(map(repr, SIDES))}; got {side!r}.")

    def register(simulate):
        made = Promise(text, nominal, side, designs or {"": {}}, n_trials, simulate)
        if PROMISES.get(made.name, made).room != made.room:
            raise ValueError(f"Two promises are called {made.name!r}.")
        PROMISES[made.name] = made
        return simulate

    return register


def load_promises():
    """Import every room and return the promises by name."""
    for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
        import_module(f"{__package__}.{path.stem}")
    return PROMISES


def measure(promised, design, n_trials=None):
    """Simulate one design of a promise, with a seed that depends on their names alone."""
    n_trials = n_trials or promised.n_trials
    rng = np.random.default_rng([crc32(promised.name.encode()), crc32(design.encode())])
    outcome = promised.simulate(rng, n_trials, **promised.designs[design])
    if isinstance(outcome, tuple):
        successes, n_trials = outcome
        return _with_interval(successes / n_trials, n_trials, n_trials)
    values = np.asarray(outcome, dtype=float)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"{promised.name} must return one value in [0, 1] for each trial.")
    return _with_interval(values.mean(), _effective_size(values), len(values))


def _effective_size(values):
    """Size of a binomial sample whose rate varies as much as the mean of these values."""
    mean, variance = values.mean(), values.var(ddof=1) / len(values) if len(values) > 1 else 0.0
    if variance == 0 or ((values == 0) | (values == 1)).all():
        return len(values)
    return max(len(values), mean * (1 - mean) / variance)


def _with_interval(rate, size, n_trials):
    tail = (1 - CONFIDENCE_LEVEL) / 2
    k = rate * size
    low = stats.beta.ppf(tail, k, size - k + 1) if k > 0 else 0.0
    high = stats.beta.isf(tail, k + 1, size - k) if k < size else 1.0
    return Measured(float(rate), float(low), float(high), int(n_trials))
