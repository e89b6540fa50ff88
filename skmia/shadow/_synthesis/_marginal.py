"""Synthetic records with independent features."""

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from ..._core.asking import check_victim
from ..._core.records import Records
from ..._core.types import Seed
from ._base import Synthesizer
from ._model_based import check_size, warn_short


class MarginalSynthesizer(Synthesizer):
    """Synthesizer that draws each feature independently from its marginal distribution.

    Suitable for an attacker who knows the marginal distribution of each feature, for example from
    published statistics, but has no records.

    Parameters
    ----------
    victim : fitted classifier or regressor, default=None
        Model under attack, in a :class:`~sklearn.frozen.FrozenEstimator`; its predictions become
        the task labels, and the features are drawn from their distribution over all records. If
        None, the features are drawn from their distribution within a class, and classes are as
        frequent as among the records.
    random_state : int, RandomState instance or None, default=None
        Controls all draws. Each call of ``sample`` returns new records.

    Attributes
    ----------
    n_queries_ : int
        Number of queries of the victim since ``fit``; one per synthetic record.
    report_ : DataFrame or None
        One row per class, set by ``sample``: ``n_wanted`` (at least one per class), ``n_made`` and
        ``n_queries``; None for a regressor.

    Warns
    -----
    UserWarning
        If a class has no record.

    See Also
    --------
    ModelBasedSynthesizer : Synthesizer that needs no statistics, but many queries.
    NoisyRecords : Synthesizer that changes some features of real records.

    References
    ----------
    Shokri, R., Stronati, M., Song, C. and Shmatikov, V. (2017). Membership inference attacks
    against machine learning models. IEEE S&P, section V-C.

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skmia.datasets import load_iris
    >>> from skmia.shadow import MarginalSynthesizer
    >>> iris = load_iris()
    >>> victim = FrozenEstimator(KNeighborsClassifier().fit(iris.X, iris.y))
    >>> synthesizer = MarginalSynthesizer(victim, random_state=0).fit(iris)
    >>> synthesizer.sample(60)
    Records(60 records, X=ndarray(60, 4), float64, y=int64)
    >>> synthesizer.n_queries_
    60
    """

    _parameter_constraints = {"victim": "no_validation", "random_state": ["random_state"]}

    def __init__(self, victim: BaseEstimator | None = None, *, random_state: Seed = None) -> None:
        self.victim = victim
        self.random_state = random_state

    def _needs_labels(self):
        return self.victim is None

    def _fit(self, records):
        if self.victim is not None:
            check_victim(self.victim)
            return
        if type_of_target(records.y).startswith("continuous"):
            raise ValueError(
                "Without a victim, records are drawn class by class, but y holds real values. Pass "
                "the victim, whose predictions become the labels."
            )
        self._classes, self._labels = np.unique(records.y, return_inverse=True)

    def sample(self, n_samples: int = 1) -> Records:
        """Draw records.

        Parameters
        ----------
        n_samples : int, default=1
            Number of records to generate.

        Returns
        -------
        records : Records of n_samples records
            In the form of those given to ``fit``.
        """
        check_is_fitted(self)
        n_samples = check_size(n_samples)
        if self.victim is None:
            records, classes = self._draw_by_class(n_samples), self._classes
        else:
            records, classes = self._draw_and_ask(n_samples)
        self._report(records, classes)
        return records

    def _draw(self, rows, n_samples):
        """Draw every feature from a separate row."""
        codes = self._table.codes
        picked = rows[self._rng.integers(len(rows), size=(n_samples, codes.shape[1]))]
        return codes[picked, np.arange(codes.shape[1])]

    def _draw_by_class(self, n_samples):
        labels = self._labels[self._rng.integers(len(self._labels), size=n_samples)]
        codes = np.empty((n_samples, self._table.n_features))
        for label in np.unique(labels):
            chosen = labels == label
            codes[chosen] = self._draw(np.flatnonzero(self._labels == label), chosen.sum())
        return Records(self._table.decode(codes), self._classes[labels])

    def _draw_and_ask(self, n_samples):
        codes = self._draw(np.arange(len(self._table.codes)), n_samples)
        outputs = self._ask(codes)
        labels = outputs.values
        if outputs.kind not in ("label", "value"):
            labels = outputs.classes[labels.argmax(axis=1)]
        return Records(self._table.decode(codes), labels), outputs.classes

    def _report(self, records, classes):
        self.report_ = None
        if classes is None:
            return
        n_made = [np.count_nonzero(records.y == label) for label in classes]
        columns = {"n_wanted": np.maximum(n_made, 1), "n_made": n_made, "n_queries": 0}
        self.report_ = pd.DataFrame(columns, index=pd.Index(classes, name="class"))
        if self.victim is not None:
            self.report_["n_queries"] = n_made
        warn_short(self.report_, "because none was drawn", stacklevel=4)
