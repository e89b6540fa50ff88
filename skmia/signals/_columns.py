"""Base class of transformers from records to columns of signals."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted


class SignalColumns(TransformerMixin, BaseEstimator, ABC):
    """Base class of transformers from records to columns of signals."""

    @abstractmethod
    def _name_columns(self):
        """Names of the columns of the fitted transformer."""

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        names : ndarray of shape (n_columns,)
        """
        check_is_fitted(self)
        return np.array(self._name_columns(), dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags
