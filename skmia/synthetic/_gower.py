"""Encoding of tables with numbers and categories for Gower's distance."""

from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from .._core.advice import with_advice
from .._core.matrix import validate_matrix
from .._core.numbers import show
from .._core.sklearn import StrOptions, validate_params_of


class GowerEncoder(TransformerMixin, BaseEstimator):
    """Transformer to columns whose Manhattan distance is Gower's distance of the rows.

    Two rows differ in a column of numbers by the share of its range that lies between them, in a
    column of categories by 0 or 1; Gower's distance is the mean over the columns, in [0, 1] for
    rows within the ranges.

    Parameters
    ----------
    categorical_features : "from_dtype" or array-like of str or int, default="from_dtype"
        Columns that hold categories: columns of a DataFrame that are not numeric (booleans count as
        categories, an array has none), or the given names or positions.

    Attributes
    ----------
    transformer_ : ColumnTransformer
        Scales numbers by their range and turns categories into columns of ones and zeros.
    is_categorical_ : ndarray of shape (n_features,), dtype bool
        Which columns hold categories.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where X has names that are strings.

    Raises
    ------
    ValueError
        If a column of numbers lacks values. In a column of categories a missing value is a
        category.

    Notes
    -----
    Rows with different categories differ in two columns of ones and zeros, so that these are
    halved. A category that was not there in `fit` has no column, and differs from others by a half.

    References
    ----------
    Gower, J. C. (1971). A general coefficient of similarity and some of its properties.
    Biometrics 27(4).

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.metrics import pairwise_distances
    >>> from skmia.synthetic import GowerEncoder
    >>> X = pd.DataFrame({"age": [20, 30, 60], "sex": ["f", "m", "f"]})
    >>> pairwise_distances(GowerEncoder().fit_transform(X), metric="manhattan")[0]
    array([0.   , 0.625, 0.5  ])
    """

    _parameter_constraints = {
        "categorical_features": [StrOptions({"from_dtype"}), "array-like"],
    }

    def __init__(
        self, categorical_features: Literal["from_dtype"] | ArrayLike = "from_dtype"
    ) -> None:
        self.categorical_features = categorical_features

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn ranges and categories.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_rows, n_columns)
            A table.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        validate_params_of(self)
        table = self._check(X, reset=True)
        self.is_categorical_ = self._read_categorical(table)
        self._check_numbers(table)
        places = np.arange(table.shape[1])
        encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        self.transformer_ = ColumnTransformer(
            [
                ("numbers", MinMaxScaler(), places[~self.is_categorical_]),
                ("categories", encoder, places[self.is_categorical_]),
            ]
        )
        with with_advice(self, table):
            self.transformer_.fit(table)
        return self

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Points of the rows.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_rows, n_columns)
            A table with the columns of `fit`.

        Returns
        -------
        points : ndarray of shape (n_rows, n_numbers + n_categories)
        """
        check_is_fitted(self)
        table = self._check(X, reset=False)
        self._check_numbers(table)
        with with_advice(self, table):
            points = np.asarray(self.transformer_.transform(table), dtype=float)
        points[:, np.sum(~self.is_categorical_) :] /= 2
        return points / len(self.is_categorical_)

    def _check(self, X, reset):
        if not isinstance(X, pd.DataFrame):
            X = validate_matrix(self, X, reset=reset, dtype=None)
            return pd.DataFrame(X)
        validate_matrix(self, X, reset=reset, skip_check_array=True)
        if len(X) == 0:
            raise ValueError("Expected a table with at least 1 row; got 0.")
        return X.set_axis(range(X.shape[1]), axis=1)

    def _check_numbers(self, table):
        missing = table.loc[:, ~self.is_categorical_].isna().to_numpy()
        if missing.any():
            column = np.flatnonzero(~self.is_categorical_)[missing.any(axis=0).argmax()]
            name = getattr(self, "feature_names_in_", range(table.shape[1]))[column]
            raise ValueError(
                f"The column of numbers {name!r} lacks {missing.sum(axis=0).max()} values; impute "
                "them, or name the column in categorical_features."
            )

    def _read_categorical(self, table):
        if isinstance(self.categorical_features, str):
            kinds = [
                not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)
                for dtype in table.dtypes
            ]
            return np.array(kinds, dtype=bool)
        is_categorical = np.zeros(table.shape[1], dtype=bool)
        names = list(getattr(self, "feature_names_in_", ()))
        if not np.iterable(self.categorical_features):
            raise ValueError(
                "categorical_features must be 'from_dtype' or a sequence of columns; got "
                f"{show(self.categorical_features)}."
            )
        for column in self.categorical_features:
            place = names.index(column) if isinstance(column, str) and column in names else column
            is_place = isinstance(place, Integral) and -table.shape[1] <= place < table.shape[1]
            if not is_place:
                raise ValueError(
                    f"categorical_features has {show(column)}, which is not a column of X."
                )
            is_categorical[int(place)] = True
        return is_categorical
