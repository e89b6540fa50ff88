"""Signal of the victim's loss under small changes of a record."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import gen_batches

from .._core.asking import query_victim
from .._core.numbers import SMALLEST, check_count, check_number
from .._core.randomness import check_seed
from ._base import VictimSignal
from ._confidence import Loss
from .changes import as_numbers
from .rounding import loss_rounding

# Number of changed rows per query of the victim.
_ROWS = 50_000
_MOST_CHANGES = 1_000_000  # queries of each record


@dataclass(frozen=True)
class Merlin(VictimSignal):
    """Share of small random changes of a record that raise the victim's loss.

    Members of a trained model lie near minima of its loss. Each change adds Gaussian noise to all
    features. The same changes are applied to every record, so that a score depends only on the
    record. A change counts if it raises the loss by more than rounding errors. The share is a
    multiple of ``1 / n_changes``, with many ties. The victim is queried ``n_changes`` times per
    record. Source: Jayaraman et al. (2021), algorithm 3.

    Parameters
    ----------
    n_changes : int, default=100
        Number of changed copies of each record.
    scale : float, default=0.01
        Standard deviation of the noise, in units of the features, which should have the same scale.
    random_state : int, default=0
        Controls the noise.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skmia import Records
    >>> from skmia.signals import Merlin
    >>> X, y = load_iris(return_X_y=True)
    >>> victim = LogisticRegression(max_iter=500).fit(X, y)
    >>> Merlin(n_changes=10).of(victim, Records(X, y)[[0, 60, 149]])
    array([0.6, 0.4, 0.3])
    """

    n_changes: int = 100
    scale: float = 0.01
    random_state: int = 0
    name = "merlin"
    reads = Loss.reads

    def __post_init__(self):
        check_count(self.n_changes, "n_changes", high=_MOST_CHANGES)
        check_number(self.scale, "scale", "above 0", SMALLEST)
        check_seed(self.random_state)

    def _inspect(self, victim, records):
        X, restore = as_numbers(records.X, f"Signal {self.name!r}")
        dtype = X.dtype if X.dtype.kind == "f" else np.dtype(float)
        rng = np.random.RandomState(self.random_state)
        noise = rng.normal(scale=self.scale, size=(self.n_changes, 1, *X.shape[1:])).astype(dtype)
        signal = Loss()
        answers = query_victim(victim, restore(X.astype(dtype)))
        # For a forest or a saturated net, many changes leave the loss unchanged, up to rounding.
        below = signal(answers, records.y) - loss_rounding(answers, records.y)
        raised = np.zeros(len(records))
        for some in gen_batches(self.n_changes, max(1, _ROWS // len(records))):
            changed = X + noise[some]
            answers = query_victim(victim, restore(changed.reshape(-1, *X.shape[1:])))
            values = signal(answers, np.tile(records.y, len(changed))).reshape(len(changed), -1)
            raised += (values < below).sum(axis=0)  # the signal is minus the loss
        return raised / self.n_changes
