"""Lookup in a fitted pool: the column of each record and the models trained on it."""

import copy
from collections.abc import Iterator
from typing import Self

import numpy as np
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from .._core.asking import query_aligned
from .._core.filed_array import FiledArray
from .._core.hashing import DigestIndex, describe_types, find_copies
from .._core.moments import count_models, cut
from .._core.numbers import are_consecutive
from .._core.records import Records
from .._core.validation import check_records
from ..signals import Signal


def augmented(records, augment):
    """Return the records followed by their augmentations."""
    if augment is None:
        return [records]
    further = augment(records)
    further = [further] if hasattr(further, "fingerprint") else list(further)
    for changed in further:
        check_records(changed, targets=True)
        if len(changed) != len(records):
            raise ValueError(
                f"augment must keep the number of records; it returned {len(changed)} of "
                f"{len(records)}."
            )
    return [records, *further]


def take_columns(values, columns):
    """Take columns, the last axis, of an array; contiguous columns are not copied."""
    if columns[0] >= 0 and are_consecutive(columns):
        return np.asarray(values[..., columns[0] : columns[0] + len(columns)])
    return np.asarray(values.take(columns, axis=-1))


def find_smallest(hashes, n):
    """Return the first place of each of the n smallest distinct hashes, in their order."""
    if n < len(hashes):  # sorting all of them takes as long as two reads of the signals
        few = np.flatnonzero(hashes <= np.partition(hashes, n - 1)[n - 1])
        if len(first := np.unique(hashes[few], return_index=True)[1]) == n:
            return few[first]
    return np.unique(hashes, return_index=True)[1][:n]


class PoolLookup:
    """Part of a :class:`ShadowPool` that maps records to columns."""

    # Needs membership_, signals_ and estimators_.

    # Fingerprints, in increasing order, and columns of further records, see with_relatives.
    _relatives: tuple[np.ndarray, np.ndarray] | None = None

    def _set_lookup(self, records):
        """Store which record is which column."""
        self.n_records_ = len(records)
        self._digests, self._index, self._n_inside = records.digests, None, None
        self._types = describe_types(records.X, records.y)
        self._copies = find_copies(records.fingerprint)

    def first(self, n_estimators: int) -> Self:
        """Return a pool of the first models only.

        Parameters
        ----------
        n_estimators : int
            Number of models, at most the size of the pool.

        Returns
        -------
        pool : ShadowPool
            Fitted pool that shares the arrays of this one. It holds nothing for a larger pool.
        """
        pool = copy.copy(self)
        pool.n_estimators, pool._memory = n_estimators, None
        for name in ("membership_", "outputs_", "estimators_", "_model_steps"):
            values = getattr(self, name)
            setattr(pool, name, None if values is None else values[:n_estimators])
        pool.signals_ = self.signals_[:, :, :n_estimators]
        pool._n_inside = None
        pool.design_ = self.design_.first(n_estimators)
        return pool

    def with_relatives(self, relatives: Records, records: Records) -> Self:
        """Return a pool in which changed records have the training sets of their originals.

        Parameters
        ----------
        relatives : Records of n records
            Changed records, such as points around the records of the pool.
        records : Records of n records
            The original of each.

        Returns
        -------
        pool : ShadowPool
            Fitted pool that shares the arrays of this one. In :meth:`blocks` and
            :meth:`count_inside`, a model counts as trained on a relative that is not itself in the
            pool if it was trained on the original.
        """
        pool = copy.copy(self)
        prints, first = np.unique(relatives.fingerprint, return_index=True)
        pool._relatives = prints, self.locate(records)[first]
        return pool

    def _find_homes(self, records, columns):
        """Return the columns whose training sets count, given the columns of the records."""
        if self._relatives is None:
            return columns
        prints, homes = self._relatives
        position = np.minimum(np.searchsorted(prints, records.fingerprint), len(prints) - 1)
        known = (prints[position] == records.fingerprint) & (columns < 0)
        return np.where(known, homes[position], columns)

    def locate(self, records: Records) -> np.ndarray:
        """Return the column of each record in the pool.

        Parameters
        ----------
        records : Records of n records
            Any records.

        Returns
        -------
        column : ndarray of shape (n,)
            Columns; -1 for a record that is not in the pool.
        """
        digests, own = records.digests, self._digests
        # Usually they are neighboring records of the pool in the same order: no search is needed.
        start = (digests.ctypes.data - own.ctypes.data) // own.itemsize  # in one piece of memory
        if not np.may_share_memory(own, digests) or not 0 <= start < own.shape[1]:
            start = int(np.argmax(own[0] == digests[0, 0])) if len(records) else 0
        stop = start + len(records)
        if stop <= own.shape[1] and np.array_equal(own[:, start:stop], digests):
            columns = records._list_positions()
            columns += start
            some = slice(*np.searchsorted(self._copies[0], [start, stop]))
            columns[self._copies[0, some] - start] = self._copies[1, some]
            return columns
        if self._index is None:
            self._index = DigestIndex(own)
        return self._index.find(digests)

    def part(self, columns: np.ndarray) -> Self:
        """Return a pool of some records, for attacks that were fitted to the whole.

        Parameters
        ----------
        columns : ndarray of shape (n,)
            Columns, as returned by :meth:`locate`, none of them -1.

        Returns
        -------
        pool : ShadowPool
            Fitted pool of these records. Where they are neighbors, it shares the arrays of this
            one, and signals in files stay there.
        """
        pool = copy.copy(self)
        pool._memory = pool._index = pool._n_inside = None
        start, stop = columns[0], columns[0] + len(columns)
        together = are_consecutive(columns)
        for name in ("signals_", "membership_"):
            values = getattr(self, name)
            if together and isinstance(values, FiledArray):
                setattr(pool, name, values.span(start, stop))
            else:
                setattr(pool, name, take_columns(values, columns))
        pool.outputs_ = None  # attacks that read them take the whole pool
        pool._digests = take_columns(self._digests, columns)
        pool._copies = find_copies(pool._digests[0])
        return pool

    def _known_columns(self, records):
        columns = self.locate(records)
        unknown = np.flatnonzero(columns < 0)
        if len(unknown):
            raise ValueError(
                f"{len(unknown)} of {len(records)} records are not in the shadow pool, first at "
                f"position {unknown[0]}; {self.how_to_know(records)}"
            )
        return columns

    def how_to_know(self, records: Records) -> str:
        """Say how a pool that does not hold some records could.

        Parameters
        ----------
        records : Records of n records
            Records, some of which are not in the pool.

        Returns
        -------
        advice : str
            What to do, in one sentence, and what else is possible.
        """
        types = describe_types(records.X, records.y)
        if types != self._types:
            return f"they hold {types}, but the pool holds {self._types}, and types must agree."
        return (
            "fit the pool on all records, or pass an unfitted one or shadows=16, which an attack "
            "trains on the Records that its folds are slices of; models that were trained on none "
            'of the records suffice with online=False and store="models".'
        )

    def locate_usable(self, records: Records) -> np.ndarray:
        """Return the column of each record whose signals the pool stores or can compute.

        Parameters
        ----------
        records : Records of n records
            Records of the pool; others need ``store="models"``.

        Returns
        -------
        column : ndarray of shape (n,)
            Columns; -1 for a record on which the stored models have to be queried.

        Raises
        ------
        ValueError
            If a record is not in the pool and the models were not kept.
        """
        return self._known_columns(records) if self.estimators_ is None else self.locate(records)

    @property
    def n_inside(self) -> np.ndarray:
        """Number of models that were trained on each record of the pool."""
        if self._n_inside is None:
            n_models, n_records = self.membership_.shape
            dtype = np.int16 if n_models < 1 << 15 else np.int32
            self._n_inside = np.empty(n_records, dtype)
            for rows in cut(n_records):
                self._n_inside[rows] = count_models(self.membership_[:, rows])
        return self._n_inside

    def count_inside(self, records: Records) -> np.ndarray:
        """Number of models that were trained on each record.

        Parameters
        ----------
        records : Records of n records
            Records of the pool; others need ``store="models"``.

        Returns
        -------
        n_inside : ndarray of shape (n,)
        """
        columns, counts = self._find_homes(records, self.locate_usable(records)), self.n_inside
        found = np.empty(len(columns), counts.dtype)
        for rows in cut(len(columns)):
            found[rows] = np.where(columns[rows] >= 0, counts[columns[rows]], 0)
        return found

    def inside(self, columns: np.ndarray) -> np.ndarray:
        """Return which models were trained on the records of some columns.

        Parameters
        ----------
        columns : ndarray of shape (n,)
            Columns, as returned by :meth:`locate`.

        Returns
        -------
        inside : ndarray of shape (n_estimators, n), dtype bool
            False for column -1.
        """
        inside = take_columns(self.membership_, columns)
        return inside if (columns >= 0).all() else inside & (columns >= 0)

    def draw_columns(self, n_records: int, usable: np.ndarray) -> np.ndarray:
        """Draw columns of the pool by the content of their records, each record once.

        The draw depends neither on the order of the records nor on a seed.

        Parameters
        ----------
        n_records : int
            Maximum number of columns.
        usable : ndarray of shape (n,), dtype bool
            Columns to draw from.

        Returns
        -------
        columns : ndarray of shape (n_drawn,)
            Columns in increasing order.
        """
        # They have the smallest hashes, which are random.
        columns = np.empty(0, np.intp)
        for rows in cut(len(usable)):
            columns = np.append(columns, rows.start + np.flatnonzero(usable[rows]))
            columns = columns[find_smallest(self._digests[0, columns], n_records)]
        return np.sort(columns)

    def blocks(
        self, records: Records, size: int, signal: str | tuple[str, float] | Signal = "auto"
    ) -> Iterator[tuple[slice | np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield signals and training sets block by block, in the order of the pool's columns.

        A memory-mapped array of signals may be larger than the memory.

        Parameters
        ----------
        records : Records of n records
            Records of the pool; others need ``store="models"``.
        size : int
            Maximum number of records in a block.
        signal : "auto", ("auto", temperature), str or Signal, default="auto"
            Signal that is stored, or that follows from a stored one.

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
        homes = self._find_homes(records, columns)
        in_order = (columns[1:] >= columns[:-1]).all()
        order = None if in_order else np.argsort(columns, kind="stable")
        for rows in gen_batches(len(records), size):
            rows = rows if order is None else order[rows]
            inside = self.inside(homes[rows])
            values = self._values_at(records, columns, rows, reading)
            yield rows, values, inside, count_models(inside)

    def answers(self, records: Records) -> np.ndarray:
        """Return class probabilities (or logits, or decision values) of each model on each record.

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
            If neither the answers nor the models were kept, or the models are regressors.
        """
        if self.classes_ is None:
            raise ValueError(
                "The shadow models are regressors, which have no class probabilities; LiRA, RMIA "
                "and CalibratedAttack compare their predictions."
            )
        if self.output_kind_ == "label":
            raise ValueError(
                "The shadow models return labels, and no class probabilities; LiRA and "
                "CalibratedAttack compare labels."
            )
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

    def membership(self, records: Records) -> np.ndarray:
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
        check_records(records, targets=True)
        return self.inside(self.locate(records)).T
