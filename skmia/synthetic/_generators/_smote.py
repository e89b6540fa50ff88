"""Rows between training rows."""

import numpy as np
import pandas as pd

from ..._core.optional import import_optional
from ..._core.sklearn import at_least
from ._base import BaseGenerator

# Sums of squares of larger numbers overflow.
_LARGEST = 1e150


class SmoteGenerator(BaseGenerator):
    """Generator of rows between neighboring training rows (SMOTE), by imbalanced-learn.

    Numbers lie on the segment between a training row and one of its nearest neighbors; each
    category is the most frequent one among these neighbors. SMOTE was made to balance classes. It
    is also used for synthetic tables, although its rows stay near training rows.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbors.

    Attributes
    ----------
    n_rows_ : int
        Number of training rows.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where X has names that are strings.

    Raises
    ------
    ImportError
        If imbalanced-learn is not installed.
    ValueError
        If there are not more rows than neighbors, or a column of numbers has missing values.

    See Also
    --------
    BootstrapGenerator : Generator that draws training rows again.

    Notes
    -----
    Columns of a DataFrame that are not numeric, and truth values, are categories. Whole numbers are
    rounded. All rows are one class; ``SMOTEN`` is used where all columns are categories.

    References
    ----------
    Chawla, N. V., Bowyer, K. W., Hall, L. O. and Kegelmeyer, W. P. (2002). SMOTE: synthetic
    minority over-sampling technique. Journal of Artificial Intelligence Research 16.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.synthetic import SmoteGenerator
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> SmoteGenerator().fit(X).sample(10, random_state=0).shape  # doctest: +SKIP
    (10, 2)
    """

    _parameter_constraints = {"n_neighbors": [at_least(1)]}

    def __init__(self, *, n_neighbors: int = 5) -> None:
        self.n_neighbors = n_neighbors

    def _fit(self, table):
        if len(table) <= self.n_neighbors:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} needs more rows than neighbors; got {len(table)}."
            )
        import_optional("imblearn.over_sampling", "smote")
        self._is_category = [
            not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)
            for dtype in table.dtypes
        ]
        for place in np.flatnonzero(~np.array(self._is_category)):
            column = table.iloc[:, place].to_numpy(dtype=float, na_value=np.nan)
            if not np.abs(column).max() < _LARGEST:
                raise ValueError(
                    f"Column {table.columns[place]!r} must hold numbers below {_LARGEST:g}, none "
                    "missing; fill or scale it."
                )
        self._table = table

    def _draw(self, n_samples, random_state):
        over_sampling = import_optional("imblearn.over_sampling", "smote")
        table, n_rows = self._table.copy(), len(self._table)
        is_category = self._is_category
        codes = {}  # categories as places, so that types and missing values do not matter
        for place in np.flatnonzero(is_category):
            column = table.iloc[:, place]
            code, codes[place] = pd.factorize(column, use_na_sentinel=False)
            table.isetitem(place, code)
        settings = {
            "sampling_strategy": {1: n_rows + n_samples},
            "k_neighbors": self.n_neighbors,
            "random_state": random_state.randint(np.iinfo(np.int32).max),
        }
        if all(is_category):
            sampler = over_sampling.SMOTEN(**settings)
        elif any(is_category):
            sampler = over_sampling.SMOTENC(categorical_features=list(codes), **settings)
        else:
            sampler = over_sampling.SMOTE(**settings)
        # There have to be two classes; the other one, of a single row, plays no part.
        rows = np.vstack([table.to_numpy(dtype=float), table.to_numpy(dtype=float)[:1]])
        made, _ = sampler.fit_resample(rows, np.append(np.ones(n_rows, int), 0))
        made = pd.DataFrame(np.asarray(made)[n_rows + 1 :], columns=table.columns)
        for place, dtype in enumerate(self._dtypes):
            if place in codes:
                made.isetitem(place, codes[place].take(made.iloc[:, place].astype(int)))
            elif pd.api.types.is_integer_dtype(dtype):
                made.isetitem(place, made.iloc[:, place].round())
        return made
