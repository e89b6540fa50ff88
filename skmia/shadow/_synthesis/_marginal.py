"""Records whose features are drawn one by one."""

import numpy as np
import pandas as pd
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from ..._core.asking import check_victim
from ..._core.records import Records
from ._base import Synthesizer
from ._model_based import check_size, warn_short


class MarginalSynthesizer(Synthesizer):
    """Records with each feature drawn independently from its marginal distribution.

    For an attacker who knows how frequent the values of each feature are, from statistics that were
    published, but has no records.

    Parameters
    ----------
    victim : fitted classifier or regressor, default=None
        Model under attack, in a :class:`~sklearn.frozen.FrozenEstimator`; what it predicts becomes
        the task label, and the features are drawn from their distribution over all records. With
        None the features are drawn from their distribution within a class, and the classes are as
        frequent as among the records.
    random_state : int, RandomState instance or None, default=None
        For all draws. Each call of ``sample`` gives further records.

    Attributes
    ----------
    n_queries_ : int
        Records that the victim was asked about since ``fit``; one for each record made.
    report_ : DataFrame or None
        After ``sample``, a row for each class: ``n_wanted`` (at least one of each), ``n_made`` and
        ``n_queries``; None for a regressor.

    Warns
    -----
    UserWarning
        When a class has no record.

    See Also
    --------
    ModelBasedSynthesizer : Needs no statistics, and many queries.
    NoisyRecords : Real records with some features changed.

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

    def __init__(self, victim=None, *, random_state=None):
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
                "Without a victim records are drawn class by class, and y holds real values; give "
                "the victim, whose predictions become the labels."
            )
        self._classes, self._labels = np.unique(records.y, return_inverse=True)

    def sample(self, n_samples=1):
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
        """Every feature from a row of its own."""
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
        warn_short(self.report_, "as none was drawn", stacklevel=4)
