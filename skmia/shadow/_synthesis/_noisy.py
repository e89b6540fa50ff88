"""Real records with some of their features changed."""

from numbers import Real

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..._core.records import Records
from ..._core.sklearn import Interval
from ..._core.types import Seed
from ._base import Synthesizer
from ._codes import choose_features
from ._model_based import check_size


class NoisyRecords(Synthesizer):
    """Synthesizer that changes a share of the features of real records.

    Suitable to measure how much an attack loses if the attacker's records come from a source that
    differs from the victim's.

    Parameters
    ----------
    noise : float, default=0.1
        Share of the features of each record that are changed, rounded to a whole number of them. A
        feature with two values is flipped; others are drawn from their marginal distribution, which
        may return the old value.
    random_state : int, RandomState instance or None, default=None
        Controls all draws. Each call of ``sample`` returns new records.

    Attributes
    ----------
    n_changes_ : int
        Number of features that are changed in each record.
    n_queries_ : int
        Always 0, because no victim is queried.

    See Also
    --------
    MarginalSynthesizer : Synthesizer that draws all features.

    References
    ----------
    Shokri, R., Stronati, M., Song, C. and Shmatikov, V. (2017). Membership inference attacks
    against machine learning models. IEEE S&P, section V-C.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia import Records
    >>> from skmia.shadow import NoisyRecords
    >>> bits = np.random.default_rng(0).integers(2, size=(40, 20))
    >>> records = Records(bits, bits[:, 0])
    >>> noisy = NoisyRecords(noise=0.1, random_state=0).fit(records).sample()
    >>> np.unique((noisy.X != bits).sum(axis=1))
    array([2])
    """

    _parameter_constraints = {
        "noise": [Interval(Real, 0, 1, closed="both")],
        "random_state": ["random_state"],
    }

    def __init__(self, noise: float = 0.1, *, random_state: Seed = None) -> None:
        self.noise = noise
        self.random_state = random_state

    def _needs_labels(self):
        return True

    def _fit(self, records):
        self._labels = records.y
        self.n_changes_ = round(self.noise * self._table.n_features)

    def sample(self, n_samples: int | None = None) -> Records:
        """Change features of the records given to ``fit``.

        Parameters
        ----------
        n_samples : int, default=None
            Number of records, drawn without replacement as far as there are enough. If None, each
            record is used once, in order.

        Returns
        -------
        records : Records of n_samples records
            Changed records with their task labels.
        """
        check_is_fitted(self)
        codes = self._table.codes
        rows = np.arange(len(codes))
        if n_samples is not None:
            n_samples = check_size(n_samples)
            rows = self._rng.choice(rows, n_samples, replace=n_samples > len(rows))
        chosen = choose_features(
            np.full(len(rows), self.n_changes_), self._table.n_features, self._rng
        )
        at, columns = np.nonzero(chosen)
        noisy = codes[rows]
        noisy[at, columns] = self._change(noisy[at, columns], columns)
        return Records(self._table.decode(noisy), self._labels[rows])

    def _change(self, values, columns):
        donors = self._rng.integers(len(self._table.codes), size=len(columns))
        drawn = self._table.codes[donors, columns]
        flipped = self._table.other_value(values, columns)
        return np.where(np.isnan(flipped), drawn, flipped)
