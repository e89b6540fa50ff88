"""The container of labeled records that every attack takes as its X."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from .containers import (
    as_rows,
    describe_rows,
    is_frame,
    pack,
    read_only,
    take_rows,
    unpack,
)
from .hashing import check_fingerprints, digest_records
from .keys import as_key
from .lazy import is_lazy
from .record_input import as_field, as_labels, check_order, warn_of_rows
from .record_makers import ID, RecordMakers
from .types import Rows


def _no_matrix():
    return TypeError(
        "Records are not a matrix. Pass records to estimators that take them (attacks, Signals, "
        "ShadowPool); for the plain features of a classifier use records.X."
    )


class _Shape(tuple):
    """Shape (n,), which says why the number of columns is missing to the caller."""

    def __getitem__(self, axis):
        try:
            return super().__getitem__(axis)
        except IndexError:
            raise _no_matrix() from None


class Records(RecordMakers):
    """Labeled records: the samples of a membership attack.

    A record is a row of features with its task label and, if known, further facts about it (the
    group a person belongs to, an identifier, the victim's output). An attack is fitted on records
    and predicts the *membership* of each. A whole record therefore takes the place of a row of X in
    scikit-learn: its parts are split, sliced and cross-validated together.

    The container is one-dimensional (``shape == (n,)``) and immutable. ``X`` is not copied, so the
    arrays that were passed must not be changed either.

    Parameters
    ----------
    X : ndarray of shape (n, ...), DataFrame, sparse matrix or torch tensor
        Features, one row per record, in the form that the victim expects. Memory-mapped arrays,
        dask arrays and Arrow tables are not read as a whole: models are queried for blocks of rows,
        as arrays or, for Arrow tables, DataFrames.
    y : array-like of shape (n,), default=None
        Task labels: classes (numbers or strings) or real values.
    **fields : array-like of length n
        Further facts per record, for example ``group``, ``record_id``, ``group_by`` (the person of
        each record; :class:`~skmia.ShadowPool` keeps the records of a person together),
        ``sample_weight`` (passed to ``fit`` of the models that are trained on the records) or
        ``outputs`` (the outputs of the victim, see :meth:`with_outputs`).

    Attributes
    ----------
    X : ndarray, DataFrame, sparse matrix or torch tensor
        Features, one row per record.
    y : ndarray of shape (n,) or None
        Task labels.
    fields : mapping of str to array
        Further facts; ``records["group"]`` is short for ``records.fields["group"]``.
    fingerprint : ndarray of shape (n,), dtype uint64
        Hash of the content of each (x, y), including the types of numbers; equal records have equal
        fingerprints.
    digests : ndarray of shape (2, n), dtype uint64
        Hash of 128 bits; the fingerprint is the first half.

    Raises
    ------
    ValueError
        If the lengths differ, a label is missing or the name of a field is not valid.
    TypeError
        If X is not a container of rows.

    See Also
    --------
    ShadowPool : Trains shadow models on halves of the records.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia import Records
    >>> records = Records(np.eye(3), y=["a", "b", "a"], group=["f", "m", "f"])
    >>> records
    Records(3 records, X=ndarray(3, 3), float64, y=<U1, fields=group)
    >>> records[[0, 2]]["group"]
    array(['f', 'f'], dtype='<U1')
    """

    # _rows holds a container and the positions of its rows that belong to the records (None: all).
    __slots__ = ("_digests", "_fields", "_rows", "y")

    y: np.ndarray | Any  # None of records without labels

    # Otherwise Python would iterate with __getitem__, and numpy would build an array of records.
    __iter__ = None

    def __init__(self, X: Rows, y: ArrayLike | None = None, **fields: ArrayLike) -> None:
        X = as_rows(X)
        n_records = X.shape[0]
        warn_of_rows(X, {"y": y, **fields})
        checked = {name: as_field(name, values, n_records) for name, values in fields.items()}
        y = None if y is None else as_labels(y, n_records)
        check_order(checked, y)
        self._assign((X, None), y, checked, None)

    def _assign(self, rows, y, fields, digests):
        for name, value in zip(
            ("_rows", "y", "_fields", "_digests"), (rows, y, fields, digests), strict=True
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def _from_checked(cls, rows, y, fields, digests=None):
        records = cls.__new__(cls)
        records._assign(rows, y, fields, digests)
        return records

    @property
    def has_features(self) -> bool:
        """Whether X holds more than identifiers, see :meth:`from_ids`."""
        return not (is_frame(self.X) and list(self.X.columns) == [ID])

    @property
    def fields(self) -> Mapping[str, Any]:
        return MappingProxyType(self._fields)

    @property
    def X(self) -> Any:
        container, key = self._rows
        if key is not None:
            # Computed on request, because a search over attack parameters slices records a
            # thousand times but only reads their fingerprints and stored outputs.
            container = read_only(take_rows(container, key))
            object.__setattr__(self, "_rows", (container, None))
        return container

    @property
    def digests(self) -> np.ndarray:
        if self._digests is None:
            digests = digest_records(self.X, self.y)
            check_fingerprints(digests)
            object.__setattr__(self, "_digests", read_only(digests))
        return self._digests

    @property
    def fingerprint(self) -> np.ndarray:
        return self.digests[0]

    @property
    def shape(self) -> tuple[int, ...]:
        return _Shape((len(self),))

    def with_fields(self, **fields: ArrayLike) -> Self:
        """Return the same records with fields added or replaced.

        Parameters
        ----------
        **fields : array-like of length n
            New fields.

        Returns
        -------
        records : Records
        """
        checked = {name: as_field(name, values, len(self)) for name, values in fields.items()}
        check_order(checked, self.y)
        return self._with_checked(checked)

    def _with_checked(self, fields):
        return self._from_checked(self._rows, self.y, {**self._fields, **fields}, self._digests)

    def _without(self, name):
        fields = {key: values for key, values in self._fields.items() if key != name}
        return self._from_checked(self._rows, self.y, fields, self._digests)

    def with_outputs(self, victim: BaseEstimator) -> Self:
        """Query the victim once and store its outputs as the field ``outputs``.

        An attack with ``victim=None`` reads this field, so that a grid search over attack settings
        queries the victim once instead of once per setting and fold.

        Parameters
        ----------
        victim : fitted estimator
            Classifier or regressor.

        Returns
        -------
        records : Records
            The same records with the field ``outputs``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.linear_model import LogisticRegression
        >>> from skmia import Records
        >>> X, y = load_iris(return_X_y=True)
        >>> victim = LogisticRegression(max_iter=500).fit(X[::2], y[::2])
        >>> Records(X, y).with_outputs(victim)["outputs"]
        Outputs(150 answers, kind='proba', classes=[0, 1, 2])
        """
        from .asking import query_victim
        from .order import check_order

        outputs = query_victim(victim, self.X)
        check_order(victim, outputs, self.y)
        return self._with_checked({"outputs": outputs})

    def __len__(self) -> int:
        container, key = self._rows
        return container.shape[0] if key is None else len(key)

    @overload
    def __getitem__(self, key: str) -> Any: ...

    @overload
    def __getitem__(self, key: Any) -> Self: ...

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self._fields:
                have = ", ".join(self._fields) or "none"
                raise KeyError(f"The records have no field {key!r}; their fields: {have}.")
            return self._fields[key]
        key = as_key(key, len(self))
        fields = {name: read_only(take_rows(values, key)) for name, values in self._fields.items()}
        y, digests = read_only(take_rows(self.y, key)), read_only(self.digests[:, key])
        return self._from_checked(self._select(key), y, fields, digests)

    def _select(self, key):
        container, known = self._rows
        if known is None and is_lazy(container):
            return container, np.arange(len(self))[key]
        if known is None and isinstance(key, slice):
            return take_rows(container, key), None  # a view, without a copy
        if isinstance(key, slice):
            return container, known[key]
        key = key % len(self) if len(self) else key  # negative numbers count from the end
        return container, key if known is None else known[key]

    def __setattr__(self, name, value=None):
        raise AttributeError(
            "Records cannot be changed; with_fields() returns records with more fields."
        )

    __delattr__ = __setattr__

    def __array__(self, *args, **kwargs):
        raise _no_matrix()

    def __deepcopy__(self, memo):
        # Records are immutable, and clone() would copy a population that is a parameter.
        return self

    def __reduce__(self):
        # The digests are included, so that equal records always pickle to equal bytes.
        fields = {name: pack(values) for name, values in self._fields.items()}
        return self._from_checked_args, (pack(self.X), self.y, fields, self.digests)

    @classmethod
    def _from_checked_args(cls, X, y, fields, digests):
        fields = {name: read_only(unpack(values)) for name, values in fields.items()}
        rows = read_only(unpack(X)), None
        return cls._from_checked(rows, read_only(y), fields, read_only(digests))

    def __repr__(self):
        y = "" if self.y is None else f", y={self.y.dtype}"
        fields = f", fields={','.join(self._fields)}" if self._fields else ""
        return f"Records({len(self)} records, X={describe_rows(self.X)}{y}{fields})"
