"""Other ways to make records: from a table, from identifiers, and from parts."""

from collections.abc import Sequence
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .containers import concat_rows
from .record_input import as_ids, check_column

ID = "record_id"


class RecordMakers:
    """Part of :class:`Records` that makes them."""

    __slots__ = ()

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        target: str | None = None,
        *,
        drop: str | Sequence[str] = (),
        **fields: str,
    ) -> Self:
        """Make records from the columns of a table.

        Parameters
        ----------
        frame : DataFrame of shape (n, k)
            Table with one row per record.
        target : str, default=None
            Column of the task label; it leaves X.
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
            If ``frame`` is not a pandas DataFrame.
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
        if not isinstance(frame, pd.DataFrame):
            raise TypeError(f"from_frame takes a pandas DataFrame; got {type(frame).__name__}.")
        drop = list(drop) if np.iterable(drop) and not isinstance(drop, str | bytes) else [drop]
        for column in [*([] if target is None else [target]), *drop, *fields.values()]:
            check_column(frame, column)
        leaving = drop if target is None else [target, *drop]
        labels = None if target is None else frame[target]
        columns = {name: frame[column] for name, column in fields.items()}
        return cls(frame.drop(columns=leaving), labels, **columns)

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
                kinds = f"{type(first.X).__name__} and {type(other.X).__name__}"
                raise ValueError(f"Records with different kinds of X cannot be joined: {kinds}.")
            if (other.y is None) != (first.y is None) or set(other.fields) != set(first.fields):
                raise ValueError(
                    "Records can be joined when all have labels or none has, and all have the same "
                    f"fields; got {first!r} and {other!r}."
                )
        X = concat_rows([part.X for part in parts])
        y = concat_rows([part.y for part in parts])
        return cls(
            X, y, **{name: concat_rows([part[name] for part in parts]) for name in first.fields}
        )
