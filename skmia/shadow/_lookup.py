"""Reading a fitted pool: which record is which column, and which models were trained on it."""

import copy

import numpy as np
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from .._core.asking import query_aligned
from .._core.hashing import describe_types
from .._core.validation import check_records


def augmented(records, augment):
    """The records and, one set after the other, their augmentations.

    Raises
    ------
    ValueError
        When an augmentation has another number of records.
    """
    if augment is None:
        return [records]
    further = augment(records)
    further = [further] if hasattr(further, "fingerprint") else list(further)
    for one in further:
        check_records(one)
        if len(one) != len(records):
            raise ValueError(
                f"augment must keep the number of records; it made {len(one)} of {len(records)}."
            )
    return [records, *further]


def take_columns(values, columns):
    """Columns, the last axis, of an array; those in unbroken order without copying them."""
    start, stop = columns[0], columns[0] + len(columns)
    if start >= 0 and np.array_equal(columns, np.arange(start, stop)):
        return np.asarray(values[..., start:stop])
    return np.asarray(values.take(columns, axis=-1))


class PoolLookup:
    """The part of a :class:`ShadowPool` that knows which record is which column.

    Needs ``membership_``, ``signals_`` and ``estimators_``.
    """

    def _set_lookup(self, records):
        """Remember which record is which column."""
        self.n_records_ = len(records)
        # Within the pool 64 bits distinguish records (Records sees to it); against others, 128.
        self._fingerprint, self._column, self._place = np.unique(
            records.fingerprint, return_index=True, return_inverse=True
        )
        self._second_word = records.digests[1][self._column]
        self._types = describe_types(records.X, records.y)
        self._n_inside = self.membership_.sum(axis=0)

    def first(self, n_estimators):
        """A pool of the first models alone.

        Parameters
        ----------
        n_estimators : int
            Number of models, at most the size of the pool.

        Returns
        -------
        pool : ShadowPool
            Fitted; it reads the arrays of this one and copies none.
        """
        pool = copy.copy(self)
        pool.n_estimators = n_estimators
        for name in ("membership_", "outputs_", "estimators_", "_model_steps"):
            values = getattr(self, name)
            setattr(pool, name, None if values is None else values[:n_estimators])
        pool.signals_ = self.signals_[:, :, :n_estimators]
        pool._n_inside = pool.membership_.sum(axis=0)
        pool.design_ = self.design_.first(n_estimators)
        return pool

    def locate(self, records):
        """Column of each record in the pool.

        Parameters
        ----------
        records : Records of n records
            Any records.

        Returns
        -------
        column : ndarray of shape (n,)
            -1 for a record that the pool does not hold.
        """
        prints, second = records.digests
        # Most often they are the records of the pool in its own order: no need to search.
        position = self._place
        if not np.array_equal(self._fingerprint[position], prints):
            position = np.searchsorted(self._fingerprint[:-1], prints)
        known = (self._fingerprint[position] == prints) & (self._second_word[position] == second)
        return np.where(known, self._column[position], -1)

    def _known_columns(self, records):
        columns = self.locate(records)
        unknown = np.flatnonzero(columns < 0)
        if len(unknown):
            raise ValueError(
                f"{len(unknown)} of {len(records)} records are not in the shadow pool, first at "
                f"position {unknown[0]}; {self._how_to_know(records)}"
            )
        return columns

    def _how_to_know(self, records):
        types = describe_types(records.X, records.y)
        if types != self._types:
            return f"they hold {types}, those of the pool {self._types}, and types count."
        return (
            "fit it on all of them once and freeze it with FrozenEstimator, or fit it with "
            'store="models".'
        )

    def locate_usable(self, records):
        """Column of each record whose signals the pool has or can make.

        Parameters
        ----------
        records : Records of n records
            Records of the pool; others need ``store="models"``.

        Returns
        -------
        column : ndarray of shape (n,)
            -1 for a record that the stored models have to be asked about.

        Raises
        ------
        ValueError
            When a record is not in the pool and the models were not kept.
        """
        return self._known_columns(records) if self.estimators_ is None else self.locate(records)

    def count_inside(self, records):
        """Number of models that were trained on each record.

        Parameters
        ----------
        records : Records of n records
            Records of the pool; others need ``store="models"``.

        Returns
        -------
        n_inside : ndarray of shape (n,)
        """
        columns = self.locate_usable(records)
        return np.where(columns >= 0, self._n_inside[columns], 0)

    def inside(self, columns):
        """Which models were trained on the records of some columns.

        Parameters
        ----------
        columns : ndarray of shape (n,)
            As :meth:`locate` gives them.

        Returns
        -------
        inside : ndarray of shape (n_estimators, n), dtype bool
            False for column -1.
        """
        inside = take_columns(self.membership_, columns)
        return inside if (columns >= 0).all() else inside & (columns >= 0)

    def blocks(self, records, size, signal="auto"):
        """Signals and training sets, some records at a time, in the order of the pool's columns.

        A memory-mapped array of signals may be larger than the memory.

        Parameters
        ----------
        records : Records of n records
            Records of the pool; others need ``store="models"``.
        size : int
            Most records in a block.
        signal : "auto", ("auto", temperature), str or Signal, default="auto"
            A signal that is stored, or that follows from one.

        Yields
        ------
        rows : slice or ndarray of shape (n_rows,)
            Which of the records.
        values : ndarray of shape (n_queries, n_estimators, n_rows)
            As :meth:`values` gives them.
        inside : ndarray of shape (n_estimators, n_rows), dtype bool
            As :meth:`inside` gives it.
        n_inside : ndarray of shape (n_rows,)
            Number of models that were trained on each record.
        """
        reading = self.locate_signal(signal)
        columns = self.locate_usable(records)
        order = None if (np.diff(columns) >= 0).all() else np.argsort(columns, kind="stable")
        for rows in gen_batches(len(records), size):
            rows = rows if order is None else order[rows]
            some = columns[rows]
            n_inside = np.where(some >= 0, self._n_inside[some], 0)
            values = self._values_at(records, columns, rows, reading)
            yield rows, values, self.inside(some), n_inside

    def answers(self, records):
        """Class probabilities (or logits, or decision values) of each model on each record.

        Parameters
        ----------
        records : Records of n records
            Records of the pool; others need ``store="models"``.

        Returns
        -------
        answers : ndarray of shape (n_estimators, n, n_classes)

        Raises
        ------
        ValueError
            When neither the answers nor the models were kept, or the models are regressors.
        """
        if self.classes_ is None:
            raise ValueError("The shadow models are regressors, which give no class probabilities.")
        if self.outputs_ is not None:
            return self.outputs_[:, self._known_columns(records)]
        if self.estimators_ is None:
            raise ValueError(
                "The shadow pool kept only one number per model and record; class probabilities "
                'need store="outputs" or store="models".'
            )
        return np.array(
            [query_aligned(model, records.X, self.classes_).values for model in self.estimators_]
        )

    def membership(self, records):
        """Which models were trained on each record.

        Parameters
        ----------
        records : Records of n records
            Any records; those that are not in the pool were in no training set.

        Returns
        -------
        inside : ndarray of shape (n, n_estimators), dtype bool
        """
        check_is_fitted(self)
        check_records(records)
        return self.inside(self.locate(records)).T
