"""The container of labeled records that every attack takes as its X."""

import warnings
import weakref
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from numbers import Real
from threading import Lock, RLock, current_thread
from types import MappingProxyType
from typing import Any, Self, overload

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype
from sklearn.base import BaseEstimator

from .callers import level_of_user
from .containers import (
    align_columns,
    as_rows,
    as_table,
    choose_columns,
    concat_rows,
    describe_container,
    is_frame,
    is_lazy,
    is_tensor,
    name_kind,
    pack,
    read_only,
    take_column,
    take_rows,
    unpack,
)
from .escaping import as_html, visible
from .hashing import check_fingerprints, digest_records
from .moments import cut
from .numbers import LARGEST, as_series, show, to_array
from .out_of_core import empty_table
from .outputs import Outputs, as_key
from .sklearn import returns_pandas
from .types import ArrayLike, LazyTable, PathLike, Rows

_MOST_NAMES = 30  # of columns, in a message
_MOST_SHOWN = 12  # of columns or labels, in a notebook
_RESERVED = frozenset({"X", "y", "fields"})

# Name of the thread in which multiprocessing and loky pickle what they send to worker processes.
_SENDER = "QueueFeederThread"


def as_field_array(values, name):
    """Convert values to an array in which missing values can still be found."""
    array = to_array(values, name, "hold one value for each record")
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        # In a list of strings, numpy would convert NaN to the string "nan".
        objects = np.asarray(values, dtype=object)
        return objects if pd.isna(objects).any() else array
    return array


def check_one_type(y):
    """Refuse labels of several types, or of a type without an order."""
    if y.dtype != object:
        return
    try:
        np.unique(y)
    except (TypeError, ValueError):  # several types, or a type without an order
        kinds = ", ".join(sorted({type(label).__name__ for label in y.tolist()}))
        raise ValueError(
            f"y must hold labels of one type, such as all text or all numbers; got {kinds}. "
            "Convert them, for example with astype(str)."
        ) from None
    if any(isinstance(label, Real) and abs(label) > float(LARGEST) for label in y.tolist()):
        raise ValueError("y must hold numbers that a float can hold, or text; convert larger ones.")


def as_labels(y, n_records):
    y = as_field_array(y, "y")
    if y.dtype.names:
        raise ValueError(
            f"y is a structured array with the fields {', '.join(y.dtype.names)}, as of survival. "
            f"Give one label for each record, such as y[{y.dtype.names[-1]!r}], and a model whose "
            "fit takes it."
        )
    if y.ndim == 2 and y.shape[1] == 1:
        y = y.ravel()
    if y.ndim == 2 and y.shape[1]:
        columns = [_as_target_column(y[:, k], k, n_records) for k in range(y.shape[1])]
        return read_only(np.column_stack(columns))
    if y.ndim != 1:
        raise ValueError(
            "y must hold one task label per record, or one per record and target; got an array of "
            f"shape {y.shape}."
        )
    if len(y) != n_records:
        raise ValueError(f"X has {n_records} records and y has {len(y)} labels.")
    missing = pd.isna(y)
    if missing.any():
        raise ValueError(
            f"y has no label for {missing.sum()} of {n_records} records, "
            f"first at position {missing.argmax()}."
        )
    if y.dtype == object:  # from a nullable column; scikit-learn does not accept objects as classes
        y = as_series(y, infers=True).to_numpy()
    check_one_type(y)
    return read_only(y)


def _as_target_column(values, number, n_records):
    """Check one of several targets."""
    try:
        return as_labels(values, n_records)
    except ValueError as error:
        raise ValueError(f"Column {number} of y: {error}") from None


def as_ids(ids):
    """Check identifiers; each record needs its own."""
    ids = as_field_array(ids, "ids")
    if ids.ndim != 1 or not len(ids) or pd.isna(ids).any():
        raise ValueError(f"ids must hold one identifier for each record; got {show(ids)}.")
    again = as_series(ids).duplicated()
    if again.any():
        first = ids[again].tolist()[0]
        raise ValueError(f"ids must be all different; {show(first)} occurs more than once.")
    return ids


def as_field(name, values, n_records):
    if not name.isidentifier() or name in _RESERVED:
        raise ValueError(
            f"A field needs a name that is an identifier other than X and y; got {show(name)}."
        )
    if values is None:
        raise ValueError(f"Field {name!r} is None; leave it out instead.")
    if not (isinstance(values, Outputs) or is_tensor(values)):
        values = read_only(as_field_array(values, f"Field {name!r}"))
    if getattr(values, "ndim", 1) == 0 or len(values) != n_records:
        size = "is a scalar" if getattr(values, "ndim", 1) == 0 else f"has {len(values)} values"
        raise ValueError(f"X has {n_records} records and field {name!r} {size}.")
    return values


def check_outputs_order(fields, y):
    """Warn if stored outputs seem to be of another kind or in another order."""
    if y is not None and isinstance(fields.get("outputs"), Outputs):
        from .query import warn_of_given

        warn_of_given(fields["outputs"], y)


def check_column_name(frame, column):
    try:
        known = column in frame.columns
    except TypeError:  # a list or an array, or a string if column names are dates
        known = False
    if not known:
        names = ", ".join(map(visible, list(frame.columns)[:_MOST_NAMES]))
        more = ", ..." if len(frame.columns) > _MOST_NAMES else ""
        raise ValueError(f"Unknown column {show(column)}; the columns are {names}{more}.")


def warn_of_rows(rows, given, what="index of X", labels="X.index"):
    """Warn if values of pandas have the labels of the rows, an index or None, in another order."""
    for name, values in given.items():
        own = getattr(values, "index", None)
        if not isinstance(rows, pd.Index) or not isinstance(own, pd.Index) or own.equals(rows):
            continue
        if len(own) == len(rows) and own.is_unique and rows.is_unique and own.isin(rows).all():
            warnings.warn(
                f"{name} has the {what} in another order, and values belong to rows by their "
                f"position. Use {name}.loc[{labels}], or {name}.to_numpy() if the positions are "
                "right.",
                UserWarning,
                stacklevel=level_of_user(),
            )


def as_side(kind, name, side):
    """Make records of one of the two tables of an audit."""
    pair = f"{name} must be a pair (X, y) of features and task labels, or skmia.Records"
    if isinstance(side, kind):
        return side
    if not isinstance(side, tuple | list):
        raise TypeError(
            f"{pair}; got {'None' if side is None else 'one ' + type(side).__name__}. Write "
            f"{name}=(X, y), or {name}=Records.from_frame(table, target=...)."
        )
    if len(side) != 2:
        raise ValueError(
            f"{pair}; got {len(side)} parts. Weights, groups and other facts are fields of "
            f"{name}=Records(X, y, sample_weight=...)."
        )
    X, y = side
    if (axes := _count_axes(y)) > 1 and not _are_targets(X, y):
        if _count_axes(X) == 1:
            raise ValueError(f"{pair}; got the labels first. Write {name}=(X, y).")
        raise ValueError(
            f"{pair}; got {axes}-dimensional labels. train_test_split returns X_train, X_test, "
            "y_train, y_test: write train=(X_train, y_train), held_out=(X_test, y_test). Several "
            f"targets are given as {name}=Records(X, Y)."
        )
    try:
        return kind(X, y)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None


def _are_targets(X, y):
    """Return whether a table holds several targets of the rows of X, not features or indicators."""
    shape, own = (tuple(getattr(values, "shape", None) or np.shape(values)) for values in (X, y))
    if len(shape) < 2 or len(own) != 2 or shape[0] != own[0] or shape == own:
        return False
    values = np.asarray(y)
    is_indicator = np.isin(values, (0, 1)).all() and (values.sum(axis=1) == 1).all()
    return not is_indicator


def _count_axes(values):
    """Return the number of axes, where a column is a vector."""
    shape = getattr(values, "shape", None)
    if shape is None:
        return np.ndim(values) if isinstance(values, list | tuple) else 0
    return len(shape) - (len(shape) == 2 and shape[1] == 1)


ID = "record_id"


def label_rows(transformer, values, records):
    """Give values the row labels of X, if the transformer returns frames of pandas."""
    rows = records._get_index()
    if rows is None or not returns_pandas(transformer):
        return values
    return pd.DataFrame(values, index=rows)


class MadeOnce:
    """What was made for a table, by what it depends on; of several threads, one makes it."""

    def __init__(self):
        self._lock, self._locks, self._made, self._noted = Lock(), {}, {}, {}

    def get(self, key, make, waiting=nullcontext):
        """Return what was made for a key, and make it if nothing was; wait within a context."""
        with self._lock:
            own = self._locks.setdefault(key, RLock())
        if not own.acquire(blocking=False):
            with waiting():
                own.acquire()
        try:
            noted = self._get_noted(key)
            if noted is not None:
                return noted
            if key not in self._made:
                self._made[key] = make()
            return self._made[key]
        finally:
            own.release()

    def note(self, key, thing, is_same):
        """Know what was made elsewhere, as long as it is held there and is the same."""
        self._noted[key] = weakref.ref(thing), is_same

    def _get_noted(self, key):
        held, is_same = self._noted.get(key, (lambda: None, None))
        thing = held()
        return thing if thing is not None and is_same(thing) else None


def _no_matrix():
    return TypeError(
        "Records are not a matrix. Pass records to estimators that take them (attacks, Signals, "
        "ShadowPool); estimators of numbers, bagging and explanations take the matrix "
        "Signals(victim).fit_transform(records), and a classifier of the features takes records.X."
    )


class _RecordsShape(tuple):
    """Shape (n,), which says why the number of columns is missing to the caller."""

    def __getitem__(self, axis):
        try:
            return super().__getitem__(axis)
        except IndexError:
            raise _no_matrix() from None


class Records:
    """Labeled records: the samples of a membership attack.

    A record is a row of features with its task label and, if known, further facts about it (the
    group a person belongs to, an identifier, the victim's output). An attack is fitted on records
    and predicts the *membership* of each. A whole record therefore takes the place of a row of X in
    scikit-learn: its parts are split, sliced and cross-validated together.

    The container is one-dimensional (``shape == (n,)``) and immutable. ``X`` is not copied, so the
    arrays that were passed must not be changed either.

    A slice, such as the fold of a cross-validation, remembers the table that it was taken from, and
    keeps it in memory, as a view of a numpy array does. The shadow models that an attack trains for
    itself are trained on this table, once for equal settings. :meth:`detached` returns a slice
    as a table of its own. Records with further fields or outputs are also tables of their own, and
    so is what is read from a pickle of a slice: the file holds no other records of the table. Only
    joblib's worker processes get the table with a slice.

    Parameters
    ----------
    X : ndarray of shape (n, ...), DataFrame, Arrow table, sparse matrix, torch tensor or path
        Features, one row per record, in the form that the victim expects. Models get tables of
        pandas, polars and pyarrow as they are. Memory-mapped arrays, dask arrays and Arrow tables
        are not read as a whole: models are queried for blocks of rows. The same holds for the path
        of a parquet file or of a folder of such files, for a ``pyarrow.dataset`` and a dask frame,
        from which models get frames of pandas, and for a lazy frame of polars whose rows have a
        fixed order.
    y : array-like of shape (n,) or (n, n_targets), default=None
        Task labels: classes (numbers or strings), real values, or the values of several targets.
    **fields : array-like of length n
        Further facts per record, for example ``group``, ``record_id``, ``group_by`` (the person of
        each record; :class:`~skmia.ShadowPool` keeps the records of a person together),
        ``sample_weight`` (passed to ``fit`` of the models that are trained on the records) or
        ``outputs`` (the outputs of the victim, see :meth:`with_outputs`).

    Attributes
    ----------
    X : ndarray, DataFrame, Arrow table, sparse matrix or torch tensor
        Features, one row per record.
    y : ndarray of shape (n,), (n, n_targets) or None
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
    # _column says whether y was given with the shape (n, 1), as some models were fitted on it.
    # _origin is the table that a slice was taken from (None: the records are no slice), and _made
    # holds what was made once for a table.
    __slots__ = (
        *("__weakref__", "_column", "_digests", "_fields", "_made", "_origin", "_rows", "y"),
    )

    y: np.ndarray | Any  # None of records without labels

    # Otherwise Python would iterate with __getitem__, and numpy would build an array of records.
    __iter__ = None

    def __init__(
        self, X: Rows | LazyTable | PathLike, y: ArrayLike | None = None, **fields: ArrayLike
    ) -> None:
        X = as_rows(X)
        n_records = X.shape[0]
        warn_of_rows(getattr(X, "index", None), {"y": y, **fields})
        checked = {name: as_field(name, values, n_records) for name, values in fields.items()}
        given, y = y, None if y is None else as_labels(y, n_records)
        # Labels that are one for each record, in two dimensions, are a column.
        column = given is not None and len(getattr(given, "shape", None) or np.shape(given)) == 2
        column = column and y.ndim == 1
        check_outputs_order(checked, y)
        self._assign((X, None), y, checked, None, column)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        target: str | list[str] | None = None,
        *,
        drop: str | Sequence[str] = (),
        **fields: str,
    ) -> Self:
        """Make records from the columns of a table.

        Parameters
        ----------
        frame : DataFrame, Arrow table or path, of n rows and k columns
            Table with one row per record, of pandas, polars, pyarrow or another library that
            narwhals reads; X is a table of the same library. Of parquet, data sets and lazy frames,
            the named columns are read.
        target : str or list of str, default=None
            Column of the task label, or the columns of several targets; they leave X.
        drop : str or sequence of str, default=()
            Columns to exclude from X because they are not features (an identifier, a split marker).
        **fields : str
            Column of each field, as in ``group="race"``. The column stays in X unless it is
            dropped, because the model may use it.

        Returns
        -------
        records : Records

        Raises
        ------
        TypeError
            If ``frame`` is not a table, or not in memory.
        ValueError
            If a column does not exist.

        Examples
        --------
        >>> import pandas as pd
        >>> from skmia import Records
        >>> frame = pd.DataFrame({"age": [30, 41], "race": ["x", "y"], "income": [0, 1]})
        >>> Records.from_frame(frame, target="income", group="race").X.columns.tolist()
        ['age', 'race']
        """
        table = as_table(as_rows(frame))
        if table is None:
            raise TypeError(
                "from_frame takes a DataFrame of pandas or polars, an Arrow table or parquet; got "
                f"{type(frame).__name__}."
            )
        drop = list(drop) if np.iterable(drop) and not isinstance(drop, str | bytes) else [drop]
        targets = target if isinstance(target, list) else [] if target is None else [target]
        for column in [*targets, *drop, *fields.values()]:
            check_column_name(table, column)
        leaving = [*targets, *drop]
        labels = take_column(table, targets[0]) if targets else None
        if targets and isinstance(target, list):
            labels = pd.concat([take_column(table, name) for name in targets], axis=1)
        columns = {name: take_column(table, column) for name, column in fields.items()}
        rest = table.drop(columns=leaving) if is_frame(table) else table.drop(leaving).to_native()
        return cls(rest, labels, **columns)

    @classmethod
    def from_ids(cls, ids: ArrayLike, y: ArrayLike | None = None, **fields: ArrayLike) -> Self:
        """Make records from identifiers alone, for scores computed elsewhere.

        The identifier takes the place of the features: attacks that read stored outputs and the
        signals of a pool work, and checks that compare features are left out of an audit.

        Parameters
        ----------
        ids : array-like of shape (n,)
            Identifiers, all different: numbers or strings.
        y : array-like of shape (n,), default=None
            Task labels, which outputs with a column per class need. If None, 0 for all records:
            log odds refer to the label, whatever it is.
        **fields : array-like of length n
            Further facts per record.

        Returns
        -------
        records : Records
            With the only column ``record_id``.

        Raises
        ------
        ValueError
            If an identifier is missing or occurs twice.

        See Also
        --------
        ShadowPool.from_outputs : Makes a pool of such records.

        Examples
        --------
        >>> from skmia import Outputs, Records
        >>> scores = Outputs([2.0, -1.0], kind="log_odds")
        >>> records = Records.from_ids(["a17", "a18"], outputs=scores)
        >>> records.has_features
        False
        """
        frame = pd.DataFrame({ID: as_ids(ids)})
        return cls(frame, np.zeros(len(frame), dtype=int) if y is None else y, **fields)

    @classmethod
    def from_sides(
        cls, train: tuple[Rows, ArrayLike] | Self, held_out: tuple[Rows, ArrayLike] | Self
    ) -> tuple[Self, np.ndarray]:
        """Make records and their membership from a training set and held-out data.

        Parameters
        ----------
        train : tuple (X, y) or Records
            Features and task labels of the records that the model was trained on, the members.
        held_out : tuple (X, y) or Records
            Records of the same population that the model was not trained on. Columns of tables are
            matched by name.

        Returns
        -------
        records : Records
            The training set, followed by the held-out records.
        membership : ndarray of shape (n,)
            1 for the records of the training set, 0 for the others.

        Raises
        ------
        TypeError, ValueError
            If a side is not a pair of features and labels, or the sides differ in their columns,
            in the kind of X or in their fields.

        See Also
        --------
        skmia.audit : Takes both sides itself.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.model_selection import train_test_split
        >>> from skmia import Records
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
        >>> records, membership = Records.from_sides((X_train, y_train), (X_test, y_test))
        >>> len(records), int(membership.sum())
        (150, 112)
        """
        sides = [as_side(cls, "train", train), as_side(cls, "held_out", held_out)]
        for name, side in zip(("train", "held_out"), sides, strict=True):
            if not len(side):
                raise ValueError(f"{name} has no records; both sides need at least one.")
        first, other = sides
        rows = align_columns(other.X, first.X)
        if rows is not other.X:
            sides[1] = other._replaced((rows, None), None)
        membership = np.repeat([1, 0], [len(side) for side in sides])
        return cls.concat(sides), membership

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """Concatenate several sets of records.

        Parameters
        ----------
        parts : sequence of Records
            Sets with the same kind of X and the same fields.

        Returns
        -------
        records : Records

        Raises
        ------
        ValueError
            If there is nothing to concatenate, or the sets differ in kind or columns of X, in
            fields or in whether they carry labels.
        """
        parts = list(parts)
        if not parts:
            raise ValueError("concat needs at least one set of records.")
        for part in parts:
            if not isinstance(part, cls):
                raise TypeError(f"concat joins skmia.Records; got {type(part).__name__}.")
        first = parts[0]
        for other in parts[1:]:
            if type(other.X) is not type(first.X):
                kinds = f"{name_kind(first.X)} and {name_kind(other.X)}"
                raise ValueError(
                    f"Records with different kinds of X cannot be joined: {kinds}. "
                    "Convert one of them."
                )
            if (other.y is None) != (first.y is None) or set(other.fields) != set(first.fields):
                raise ValueError(
                    "Records can be joined when all have labels or none has, and all have the same "
                    f"fields; got {first!r} and {other!r}."
                )
        X = concat_rows([part.X for part in parts])
        y = concat_rows([part.y for part in parts], "labels")
        fields = {
            name: concat_rows([part[name] for part in parts], f"values of {name}")
            for name in first.fields
        }
        joined = cls(X, y, **fields)
        joined._assign(joined._rows, joined.y, joined._fields, None, first._was_column())
        return joined

    def _assign(self, rows, y, fields, digests, column, origin=None):
        made = MadeOnce() if origin is None else None
        for name, value in zip(
            ("_rows", "y", "_fields", "_digests", "_column", "_origin", "_made"),
            (rows, y, fields, digests, column, origin, made),
            strict=True,
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def _from_checked(cls, rows, y, fields, digests, column=False, origin=None):
        records = cls.__new__(cls)
        records._assign(rows, y, fields, digests, column, origin)
        return records

    def _get_origin(self):
        return self if self._origin is None else self._origin

    def _get_made(self):
        return self._made

    def _was_column(self):
        return self._column

    def _make_column(self, dtype=np.float64):
        """Return an array to be filled with a number per record, shape (n,), in a file if large."""
        return empty_table(len(self), dtype)

    def _list_positions(self):
        """Return the position of each record, shape (n,), in a file if there are many."""
        positions = self._make_column(np.intp)
        for rows in cut(len(self)):
            positions[rows] = np.arange(rows.start, rows.stop)
        return positions

    def _get_features(self):
        # Of the container, since the rows of a slice are taken only if they are read.
        container, _ = self._rows
        table = as_table(container)
        names = [] if table is None else list(table.columns)
        if len(container.shape) != 2 or names == [ID]:
            return None, None
        named = names and all(isinstance(name, str) for name in names)
        return container.shape[1], np.array(names, dtype=object) if named else None

    def _replaced(self, rows, digests, y=None, fields=None, origin=None):
        fields = dict(self._fields) if fields is None else fields
        y = self.y if y is None else y
        return self._from_checked(rows, y, fields, digests, self._column, origin)

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
        return _RecordsShape((len(self),))

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
        self._warn_of_rows(fields)
        checked = {name: as_field(name, values, len(self)) for name, values in fields.items()}
        check_outputs_order(checked, self.y)
        return self._with_checked(checked)

    def _warn_of_rows(self, given):
        """Warn if values for the records have the row labels of X in another order."""
        warn_of_rows(self._get_index(), given)

    def _get_index(self):
        """Return the row labels of X, None if it is no frame of pandas."""
        container, key = self._rows  # of which the rows of a slice need not be taken
        rows = container.index if is_frame(container) else None
        return rows if rows is None or key is None else rows[key]

    def _with_checked(self, fields):
        return self._replaced(self._rows, self._digests, fields={**self._fields, **fields})

    def _without(self, name):
        fields = {key: values for key, values in self._fields.items() if key != name}
        return self._replaced(self._rows, self._digests, fields=fields)

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
        from .query import check_class_order, check_targets, query_victim

        outputs = query_victim(victim, self.X)
        check_targets(victim, outputs, self.y)
        check_class_order(victim, outputs, self.y)
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
        if isinstance(key, pd.Series) and is_bool_dtype(key.dtype):
            self._warn_of_rows({"mask": key})
        key = as_key(key, len(self))
        fields = {name: read_only(take_rows(values, key)) for name, values in self._fields.items()}
        y, digests = read_only(take_rows(self.y, key)), read_only(self.digests[:, key])
        return self._replaced(self._select(key), digests, y, fields, self._get_origin())

    def detached(self) -> Self:
        """Return the same records as an independent table instead of a slice of another one.

        An attack with a number of shadow models, or an unfitted pool, trains them on the table that
        the records were taken from. On detached records it trains them on these alone.

        Returns
        -------
        records : Records
            The records themselves if they are no slice. The arrays are shared.

        Examples
        --------
        >>> from skmia.attacks import LiRA
        >>> from skmia.datasets import make_membership_problem
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> records, membership = make_membership_problem(200, random_state=0)
        >>> tree = DecisionTreeClassifier().fit(records[:50].X, records[:50].y)
        >>> LiRA(tree, shadows=4).fit(records[:100]).pool_.n_records_
        200
        >>> LiRA(tree, shadows=4).fit(records[:100].detached()).pool_.n_records_
        100
        """
        if self._origin is None:
            return self
        return self._replaced(self._rows, self._digests)

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
        args = pack(self.X), self.y, fields, self.digests, self._column
        # A worker gets the table of a slice, so that it trains what this process would train. What
        # is written to a file holds none of the other records.
        is_sent = self._origin is not None and current_thread().name == _SENDER
        return self._from_checked_args, (*args, self._origin) if is_sent else args

    @classmethod
    def _from_checked_args(cls, X, y, fields, digests, column=False, origin=None):
        fields = {name: read_only(unpack(values)) for name, values in fields.items()}
        rows = read_only(unpack(X)), None
        return cls._from_checked(rows, read_only(y), fields, read_only(digests), column, origin)

    def __repr__(self):
        y = "" if self.y is None else f", y={self.y.dtype}"
        y += f" x {self.y.shape[1]}" if self.y is not None and self.y.ndim == 2 else ""
        fields = f", fields={','.join(self._fields)}" if self._fields else ""
        return f"Records({len(self)} records, X={describe_container(self.X)}{y}{fields})"

    def _repr_html_(self):
        table = as_table(self.X)
        names = [] if table is None else list(table.columns)
        parts = {"X": describe_container(self.X) + _list_some(names), "y": _describe_labels(self.y)}
        parts |= {name: _describe_labels(values) for name, values in self._fields.items()}
        width = max(map(len, parts))
        lines = [f"  {visible(name):{width}}  {text}" for name, text in parts.items()]
        return as_html("\n".join([f"Records: {len(self):,}", *lines]))


def _list_some(values):
    """Return some of the values, as the end of a line."""
    more = ", ..." if len(values) > _MOST_SHOWN else ""
    return f": {', '.join(map(visible, values[:_MOST_SHOWN]))}{more}" if len(values) else ""


def _describe_labels(values):
    """Return type of the labels or of a field, and how often each value occurs if they are few."""
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return f"{values.dtype}, {values.shape[1]} columns"
    if not isinstance(values, np.ndarray) or values.ndim != 1:
        return "none" if values is None else show(values)
    kinds, counts = np.unique(values.astype(str), return_counts=True)
    told = [f"{kind} ({count:,})" for kind, count in zip(kinds, counts)]
    few = _list_some(told) if len(told) <= _MOST_SHOWN else ""
    return f"{values.dtype}, {len(kinds):,} different{few}"


def get_features(records):
    """Return the number of the columns of X and their names; None where there are none."""
    return records._get_features()


def change_table(records, change):
    """Return the same records with another table, which a function makes of theirs."""
    table, rows = records._rows
    changed = change(table)
    return records if changed is table else records._replaced((read_only(changed), rows), None)


def order_by_names(records, names):
    """Return records with the columns of their table in the order of these names, if it has them.

    Records are known by their content, of which the order of the columns is a part.
    """
    own = None if names is None else get_features(records)[1]
    if own is None or np.array_equal(own, names):
        return records
    if len(set(own)) < len(own) or set(own) != set(names):
        return records
    return records._replaced((read_only(choose_columns(records.X, list(names))), None), None)


def has_column(records):
    """Return whether y of records was given with the shape (n, 1); it is flat in the records."""
    return records._was_column()


def get_origin(records):
    """Return the table that records were taken from.

    The records themselves if they are no slice.
    """
    return records._get_origin()


def make_once(records, key, make, waiting):
    """Return what ``make`` returns, which a table keeps by a key as long as it is there itself.

    waiting: makes the context in which a thread waits for another one that makes it.
    """
    return records._get_made().get(key, make, waiting)


def note_made(records, key, thing, is_same):
    """Let a table know what was made of it, as long as that is held elsewhere and is the same."""
    records._get_made().note(key, thing, is_same)


Records.__module__ = "skmia"  # from where it is imported
