"""Distances to the nearest rows, which separate equal distances from nearly equal ones."""

from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from .._core.containers import as_foreign, to_pandas
from .._core.error_hints import with_advice
from .._core.matrix import check_container, check_feature_matrix, validate_matrix
from .._core.numbers import check_number, show, to_array
from .._core.sklearn import StrOptions
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike
from ._kinds import is_number_dtype, read_plainly, unify_frames


def validate_frame(estimator, X, **checks):
    """Check the columns of a DataFrame of numbers or others, and that it has a row."""
    validate_matrix(estimator, X, skip_check_array=True, **checks)
    if len(X) == 0:
        raise ValueError("Expected a table with at least 1 row; got 0.")
    return X


# Rows of each table that an audit compares by distance, and attacks; exact copies are looked for in
# all rows. Each number draws its own, from a seed of its name: distances by ``thin`` in
# ``_table/_measure.py``, attacks by ``draw_targets`` in ``_risks.py``, near copies in ``CopyTest``.
# Rows are drawn, not persons, and what is found of them is counted by persons.
MOST_COMPARED = 2000


def to_frame(X):
    """Return a table of another library, such as polars, as a DataFrame, other X as it is."""
    foreign = as_foreign(X)
    return X if foreign is None else to_pandas(foreign)


def draw_places(n, most, random_state):
    """Return the places of at most so many of n rows, in their order."""
    return np.arange(n) if n <= most else np.sort(random_state.choice(n, most, replace=False))


class GowerEncoder(TransactionMixin, TransformerMixin, BaseEstimator):
    """Transformer to columns whose Manhattan distance is Gower's distance of the rows.

    Two rows differ in a column of numbers by the share of its range that lies between them, in a
    column of categories by 0 or 1; Gower's distance is the mean over the columns, in [0, 1] for
    rows within the ranges.

    Parameters
    ----------
    categorical_features : "from_dtype" or array-like of str, int or bool, default="from_dtype"
        Columns that hold categories: columns of a DataFrame that are not numeric (booleans count as
        categories, an array has none), or the given names or positions, or a mask of the columns.

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
        If a column of numbers lacks values, which audits of tables fill with the median beside a
        column that marks them. In a column of categories a missing value is a category.

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

    _parameter_constraints = {"categorical_features": [StrOptions({"from_dtype"}), "array-like"]}

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
        ).set_output(transform="default")
        self._lacking = []
        with with_advice(self, table):
            table, self._lacking = self._name_missing(table)
            self.transformer_.fit(table)
        return self

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Return the points of the rows.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_rows, n_columns)
            A table with the columns of `fit`.

        Returns
        -------
        points : ndarray of shape (n_rows, n_numbers + n_categories)
        """
        table = self._check(X, reset=False)
        self._check_numbers(table)
        with with_advice(self, table):
            table = self._name_missing(table)[0]
            points = np.asarray(self.transformer_.transform(table), dtype=float)
        points[:, np.sum(~self.is_categorical_) :] /= 2
        return points / len(self.is_categorical_)

    def _check(self, X, reset):
        X = to_frame(X)
        if not isinstance(X, pd.DataFrame):
            X = validate_matrix(self, X, reset=reset, dtype=None)
            return pd.DataFrame(X)
        return validate_frame(self, X, reset=reset).set_axis(range(X.shape[1]), axis=1)

    def _check_numbers(self, table):
        n_missing = table.isna().to_numpy().sum(axis=0) * ~self.is_categorical_
        if n_missing.any():
            worst = n_missing.argmax()
            name = getattr(self, "feature_names_in_", range(table.shape[1]))[worst]
            raise ValueError(
                f"The column of numbers {name!r} lacks {n_missing[worst]} of {len(table)} values; "
                "impute them, or name the column in categorical_features."
            )

    def _name_missing(self, table):
        """Return the table with one missing category, of the several ones that pandas has.

        Columns that lack values, here or in the table of fit, hold objects: None is no number.
        Return table, lacking: and the places of these columns.
        """
        missing = table.isna().to_numpy() & self.is_categorical_
        lacks = missing.any(axis=0)
        lacking = [p for p in table if p in self._lacking or lacks[p]]
        if not lacking:
            return table, lacking
        return table.astype(dict.fromkeys(lacking, object)).mask(missing, None), lacking

    def _read_categorical(self, table):
        if isinstance(self.categorical_features, str):
            return np.array([not is_number_dtype(dtype) for dtype in table.dtypes], dtype=bool)
        is_categorical = np.zeros(table.shape[1], dtype=bool)
        names = list(getattr(self, "feature_names_in_", ()))
        if not np.iterable(self.categorical_features):
            raise ValueError(
                "categorical_features must be 'from_dtype' or a sequence of columns; got "
                f"{show(self.categorical_features)}."
            )
        chosen = list(self.categorical_features)
        if chosen and all(isinstance(one, bool | np.bool_) for one in chosen):
            if len(chosen) != table.shape[1]:
                raise ValueError(
                    "categorical_features must have a truth value for each of the "
                    f"{table.shape[1]} columns of X; got {len(chosen)}."
                )
            return np.array(chosen, dtype=bool)
        for column in chosen:
            place = names.index(column) if isinstance(column, str) and column in names else column
            is_place = isinstance(place, Integral) and not isinstance(place, bool)
            if not is_place or not -table.shape[1] <= place < table.shape[1]:
                raise ValueError(
                    f"categorical_features has {show(column)}, which is not a column of X."
                )
            is_categorical[int(place)] = True
        return is_categorical


class GowerSpace:
    """Points of some tables, and of others, which are read like the first and have no part in them.

    names: of the tables.

    Attributes: ``tables``, the points of the tables.
    """

    def __init__(self, tables, names):
        frames = [as_frame(table, name) for table, name in zip(tables, names)]
        self._first, self._name = frames[0], names[0]
        self.encoder, self.tables = _encode(frames, names)

    def encode(self, X, name):
        """Return the points of another table of this name."""
        names = self._name, name
        given = align_columns([self._first, as_frame(X, name)], names)
        unified, _ = unify_frames(given, names, is_shifted=False)
        return self.encoder.transform(unified[1])


def _encode(frames, names):
    """Return an encoder that is fitted to all tables together, and the points of each."""
    frames, _ = unify_frames(align_columns(frames, names), names, is_shifted=False)
    together = pd.concat(frames, ignore_index=True)
    encoder = GowerEncoder().fit(together)
    ends = np.cumsum([len(frame) for frame in frames])[:-1]
    return encoder, np.split(encoder.transform(together), ends)


# Distances that differ by a smaller share than this are the same: sums in another order.
TIE = 1e-9
# Sums of squares of larger numbers overflow.
_LARGEST = 1e150


def as_points(tables, metric, names):
    """Return the points of several tables, and the metric in which to compare them.

    With metric="gower" ranges and categories come from all tables together.
    """
    if metric == "gower":
        frames = [as_frame(table, name) for table, name in zip(tables, names)]
        return _encode(frames, names)[1], "manhattan"
    points = [
        _as_floats(check_feature_matrix(table, input_name=name))
        for table, name in zip(align_frames(tables, names), names)
    ]
    check_table_widths(points, names)
    if metric == "euclidean":
        # Squares of large numbers would leave nothing of small differences. A value that occurs
        # is subtracted without rounding from others of its size.
        center = np.quantile(points[0], 0.5, axis=0, method="nearest")
        points = [table - center for table in points]
        largest = max(float(abs(one).max()) for one in points)
        if not largest < _LARGEST:
            raise ValueError(
                f"Values that lie {largest:.3g} apart have no Euclidean distance as a float; scale "
                "the columns."
            )
    return points, metric


def as_frame(table, name):
    """Return a table as a DataFrame whose columns have the type of what they hold."""
    table = to_frame(table)
    check_container(table, name)
    if isinstance(table, pd.DataFrame):
        return read_plainly(table)
    cells = None if sparse.issparse(table) else to_array(table, name, "be a table")
    if cells is None or cells.ndim != 2:
        raise ValueError(f"{name} must be a DataFrame or a dense matrix; got {show(table)}.")
    return read_plainly(pd.DataFrame(cells).infer_objects())


def align_frames(tables, names):
    """Return tables; those that are a DataFrame with the columns of the first of them, in order."""
    tables = [to_frame(table) for table in tables]
    framed = [place for place, table in enumerate(tables) if isinstance(table, pd.DataFrame)]
    framed_names = [names[place] for place in framed]
    for place, name in zip(framed, framed_names):
        check_container(tables[place], name)
    if framed:
        aligned = align_columns([tables[place] for place in framed], framed_names)
        for place, frame in zip(framed, aligned):
            tables[place] = frame
    return tables


def align_columns(frames, names, like=0):
    """Return DataFrames with the columns of the one at the place ``like``, in its order.

    Those whose names are all text are compared by name, others by position.
    """
    check_table_widths(frames, names)
    named = [all(isinstance(name, str) for name in frame.columns) for frame in frames]
    if any(named):
        first = like if named[like] else named.index(True)
        columns, frames = frames[first].columns, list(frames)
        for place in np.flatnonzero(named):
            lacking = [column for column in columns if column not in frames[place].columns]
            if lacking:
                raise ValueError(
                    f"{names[place]} lacks the column {lacking[0]!r} of {names[first]}."
                )
            if not frames[place].columns.identical(columns):
                frames[place] = frames[place][columns]
    columns = frames[like].columns
    return [f if f.columns.identical(columns) else f.set_axis(columns, axis=1) for f in frames]


def _as_floats(points):
    """Return numbers whose differences neither wrap nor overflow; long integers stay exact."""
    is_short = points.dtype.kind in "bu" or points.dtype.itemsize < 8
    return points.astype(np.float64) if is_short else points


def check_table_widths(tables, names):
    widths = [table.shape[1] for table in tables]
    for width, name in zip(widths, names):
        if width != widths[0]:
            raise ValueError(
                f"{name} has {width} columns and {names[0]} has {widths[0]}; they must be the same."
            )


def find_nearest(rows, others, k, metric, n_jobs=None):
    """Return the k nearest of ``others`` for each row, nearest first.

    Take rows of shape (n, d), others of shape (m, d); return distances of shape (n, k); places of
    shape (n, k).
    """
    if callable(metric):
        _check_metric(metric, rows[0])
    searched = rows if others is None else others
    index = NearestNeighbors(n_neighbors=k, algorithm="brute", metric=metric, n_jobs=n_jobs)
    distances, places = index.fit(searched).kneighbors(None if others is None else rows)
    if metric != "euclidean":
        return distances, places
    # The search takes distances from products of matrices. Of those that it found the same pair
    # has to have the same distance from either side.
    for column in range(k):
        gap = rows - searched[places[:, column]]
        distances[:, column] = np.sqrt(np.einsum("nd,nd->n", gap, gap))
    order = distances.argsort(axis=1, kind="stable")
    return np.take_along_axis(distances, order, 1), np.take_along_axis(places, order, 1)


def find_own(rows, others, places):
    """Return which rows are equal to one of the others at their places.

    Distances do not tell: in some metrics rounding leaves a distance between equal rows.

    Shapes: places (n, k).
    """
    return np.any([(others[column] == rows).all(axis=1) for column in places.T], axis=0)


def _check_metric(metric, row):
    """Ask a user's function once, for the distance of a row from itself."""
    try:
        distance = metric(row, row)
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(f"metric cannot compare two rows: {reason}") from error
    check_number(distance, "A distance of metric", "a finite number")


def is_farther(distances, than, ties):
    """Return whether distances are larger: 1, 0, or what ``ties`` says where they are equal."""
    reach = TIE * than
    return np.where(np.abs(distances - than) <= reach, ties, (distances > than).astype(float))
