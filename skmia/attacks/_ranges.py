"""Random points of the range around each record."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import sparse

from .._core.containers import is_frame, is_tensor
from .._core.numbers import show
from .._core.records import Records
from ..signals._perturbation import as_rows_of_numbers, as_scale, check_scale
from ._quantile import mix


def _replace(records, X):
    """Return the records with other features; what is stored about the old ones is dropped."""
    fields = {name: values for name, values in records.fields.items() if name != "outputs"}
    return Records(X, records.y, **fields)


@dataclass(frozen=True)
class GaussianRange:
    """Points around each record by Gaussian noise on all features.

    Parameters
    ----------
    scale : float or sequence of float, default=0.1
        Standard deviation of the noise, one for all features or one per feature.

    See Also
    --------
    RangeAttack : Attack on the points of a range.
    UnknownValues : Points by values that are not known.

    Notes
    -----
    A draw is the same noise for all records, so that a point only depends on its record.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia import Records
    >>> from skmia.attacks import GaussianRange
    >>> points = GaussianRange(0.5)(Records(np.zeros((2, 3))), np.random.RandomState(0))
    >>> points.X.round(2)
    array([[0.88, 0.2 , 0.49],
           [0.88, 0.2 , 0.49]])
    """

    scale: float | Sequence[float] = 0.1

    def __post_init__(self):
        check_scale(self.scale)

    def __call__(self, records: Records, rng: np.random.RandomState) -> Records:
        """Draw one point of the range of each record.

        Parameters
        ----------
        records : Records of n records
            Records in the middle of their ranges, with features that are numbers.
        rng : RandomState
            Source of the noise.

        Returns
        -------
        points : Records of n records
            Points in the order of the records.
        """
        values, restore = as_rows_of_numbers(records.X, "GaussianRange")
        shape = values.shape[1:]
        noise = as_scale(self.scale, shape, "GaussianRange") * rng.normal(size=shape)
        dtype = values.dtype if values.dtype.kind == "f" else np.dtype(float)
        return _replace(records, restore((values + noise).astype(dtype)))


@dataclass(frozen=True)
class UnknownValues:
    """Points that complete each record by values of other records in some columns.

    The range of a record holds all records that agree with it in the other columns. The values of
    the unknown columns are not read; all of a point come from one record of the population.

    Parameters
    ----------
    columns : sequence
        Unknown columns, by name if the records are a DataFrame, otherwise by place.
    population : Records
        Records to take values from, with the same columns.

    See Also
    --------
    RangeAttack : Attack on the points of a range.
    GaussianRange : Points by noise on all features.

    Notes
    -----
    Which record the values come from is determined by the content of a record and the draw, so that
    a point does not depend on the other records.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia import Records
    >>> from skmia.attacks import UnknownValues
    >>> others = Records(np.array([[7.0, 70.0], [8.0, 80.0]]))
    >>> draw = UnknownValues([1], others)
    >>> draw(Records(np.zeros((3, 2))), np.random.RandomState(0)).X.tolist()
    [[0.0, 70.0], [0.0, 70.0], [0.0, 70.0]]
    """

    columns: Sequence
    population: Records

    def __post_init__(self):
        if not isinstance(self.population, Records) or not len(self.population):
            raise ValueError(f"population must be Records; got {show(self.population)}.")
        listed = isinstance(self.columns, list | tuple | np.ndarray)
        if not listed or not len(self.columns):
            raise ValueError(f"columns must be a list of columns; got {show(self.columns)}.")

    def __call__(self, records: Records, rng: np.random.RandomState) -> Records:
        """Draw one point of the range of each record.

        Parameters
        ----------
        records : Records of n records
            Records whose unknown columns are completed.
        rng : RandomState
            Source of the draw.

        Returns
        -------
        points : Records of n records
            Points in the order of the records.

        Raises
        ------
        ValueError
            If X is not a table with the columns of the population.
        """
        X, donors = records.X, self.population.X
        self._check(X, donors)
        seed = int(rng.randint(2**63, dtype=np.int64))
        donor = mix(Records(self._blank(X), records.y).fingerprint, seed) % np.uint64(len(donors))
        donor = donor.astype(np.int64)
        if not is_frame(X):
            changed = np.array(X, dtype=np.result_type(X, donors))
            changed[:, list(self.columns)] = donors[donor][:, list(self.columns)]
            return _replace(records, changed)
        columns = {name: X[name].reset_index(drop=True) for name in X.columns}
        for name in self.columns:
            # A column keeps its type, including categories, in a concatenation.
            both = pd.concat([X[name], donors[name]], ignore_index=True)
            columns[name] = both.iloc[len(X) + donor].reset_index(drop=True)
        return _replace(records, pd.DataFrame(columns))

    def _check(self, X, donors):
        for rows in (X, donors):
            if sparse.issparse(rows) or is_tensor(rows) or rows.ndim != 2:
                raise ValueError(
                    "UnknownValues needs a table or an array of rows and columns; got "
                    f"{type(rows).__name__} with {rows.ndim} axes."
                )
        if is_frame(X):
            same = is_frame(donors) and X.columns.equals(donors.columns)
            missing = [name for name in self.columns if name not in X.columns]
        else:
            same = not is_frame(donors) and X.shape[1] == donors.shape[1]
            places = set(range(-X.shape[1], X.shape[1]))
            missing = [place for place in self.columns if place not in places]
        if not same:
            raise ValueError("The population of UnknownValues must have the records' columns.")
        if missing:
            raise ValueError(f"X has no column {show(missing[0])}, which columns names.")

    def _blank(self, X):
        """Return the columns that are known."""
        if is_frame(X):
            return X.drop(columns=list(self.columns))
        return np.delete(X, list(self.columns), axis=1)
