"""What generators of tables have in common."""

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..._core.matrix import validate_matrix
from ..._core.numbers import check_count
from ..._core.randomness import check_random_state
from ..._core.sklearn import validate_params_of
from ..._core.types import Seed


class BaseGenerator(BaseEstimator):
    """Base of generators that make tables like the table given to fit.

    Subclasses have ``_fit(table, random_state)`` and ``_draw(n_samples, random_state)``, which get
    and return a DataFrame.
    """

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Fit the generator.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_rows, n_features)
            A table.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        validate_params_of(self)
        self._is_frame = isinstance(X, pd.DataFrame)
        if self._is_frame:
            validate_matrix(self, X, skip_check_array=True)
            if len(X) == 0:
                raise ValueError("Expected a table with at least 1 row; got 0.")
            table = X.reset_index(drop=True)
        else:
            table = pd.DataFrame(validate_matrix(self, X))
        self._dtypes = table.dtypes
        self._fit(table)
        self.n_rows_ = len(table)
        return self

    def sample(self, n_samples: int = 1, *, random_state: Seed = None) -> pd.DataFrame | np.ndarray:
        """Draw rows.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows to draw.
        random_state : int, RandomState instance or None, default=None
            Seed of the rows. If None, every call draws new rows.

        Returns
        -------
        X : DataFrame or ndarray of shape (n_samples, n_features)
            A DataFrame with the columns and types of the training table, or an array if the
            generator was fitted on an array.
        """
        check_is_fitted(self)
        n_samples = check_count(n_samples, "n_samples")
        made = self._draw(n_samples, check_random_state(random_state))
        made = made.reset_index(drop=True).astype(self._dtypes)
        return made if self._is_frame else made.to_numpy()

    def _fit(self, table):
        raise NotImplementedError

    def _draw(self, n_samples, random_state):
        raise NotImplementedError
