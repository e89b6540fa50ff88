"""Base class of synthesizers of records."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from ..._core.asking import query_victim
from ..._core.records import Records
from ..._core.sklearn import validate_params_of
from ..._core.validation import check_records
from ._codes import TableCodes


class Synthesizer(BaseEstimator, ABC):
    """Base class of synthesizers: learn from records in ``fit``, generate records in ``sample``."""

    def fit(self, X: Records, y: Any = None) -> Self:
        """Learn the possible values of the features.

        Parameters
        ----------
        X : Records of n records
            Features in the form that the victim expects.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        validate_params_of(self)
        records = check_records(X, labels=self._needs_labels())
        self._table = TableCodes(records.X)
        self.n_queries_ = 0
        self._fit(records)
        # Drawn here, so that each call of sample returns new records.
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        self._rng = np.random.default_rng(seed)
        return self

    def _ask(self, codes):
        """Query the victim with rows of codes, and count the queries."""
        self.n_queries_ += len(codes)
        return query_victim(self.victim, self._table.decode(codes))

    @abstractmethod
    def _needs_labels(self):
        """Whether the records must have task labels."""

    @abstractmethod
    def _fit(self, records):
        """Learn from the records."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags
