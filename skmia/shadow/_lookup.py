"""Reading a fitted pool: which record is which column, and what the models say of it."""

import copy

import numpy as np
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from .._core.asking import query_aligned
from .._core.hashing import describe_types
from .._core.validation import check_finite, check_records, query
from ._evidence import evidence_named


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


def _take(values, columns):
    """Columns, the last axis, of an array; those in unbroken order without copying them."""
    start, stop = columns[0], columns[0] + len(columns)
    if start >= 0 and np.array_equal(columns, np.arange(start, stop)):
        return np.asarray(values[..., start:stop])
    return np.asarray(values.take(columns, axis=-1))


class PoolLookup:
    """The part of a :class:`ShadowPool` that attacks read.

    Needs ``membership_``, raw ``signals_``, ``signal_`` and ``estimators_``.
    """

    def _set_lookup(self, records, temperatures, dtype, steps):
        """Smooth the evidence in place and remember which record is which column."""
        evidence = self._evidence()
        self.temperatures_ = temperatures if evidence.has_temperature else (1.0,)
        self.n_records_ = len(records)
        self.resolution_ = np.empty(len(self.signals_))
        # A victim is smoothed by what the pool shows, never by the records it is asked about: the
        # score of a record must not depend on its company.
        self._model_steps, self._fallback_steps = np.asarray(steps), []
        for t, raw in enumerate(self.signals_):
            self._fallback_steps.append(evidence.find_step(raw, dtype))
            given = evidence.takes_resolution and self.temperatures_[t] == 1
            if given and self.resolution != "auto":
                self.resolution_[t] = self.resolution
            else:
                self.resolution_[t] = evidence.find_resolution(raw, dtype, self.membership_)
            n_bad = 0
            for row in raw.reshape(-1, raw.shape[-1]):
                row[:] = evidence.smooth(row, self.resolution_[t])
                n_bad += np.count_nonzero(~np.isfinite(row))
            self._check_smoothed(n_bad)
        # Within the pool 64 bits distinguish records (Records sees to it); against others, 128.
        self._fingerprint, self._column, self._place = np.unique(
            records.fingerprint, return_index=True, return_inverse=True
        )
        self._second_word = records.digests[1][self._column]
        self._types = describe_types(records.X, records.y)
        self._n_inside = self.membership_.sum(axis=0)
        self.scale_ = self._find_scale()

    def _check_smoothed(self, n_bad):
        if n_bad and self.resolution == 0:
            raise ValueError(
                f"resolution=0 leaves {n_bad} answers of shadow models infinite, as they hold "
                'probabilities of 0 or 1 or residuals of 0; use resolution="auto".'
            )
        if n_bad:
            raise ValueError(f"{n_bad} answers of the shadow models are NaN or infinite.")

    @property
    def keeps(self):
        """What is, or will be, kept of each shadow model, in the words of :class:`Needs.keeps`."""
        fitted = hasattr(self, "temperatures_")
        temperatures = self.temperatures_ if fitted else self.temperatures
        kept = {"auto" if one == 1 else ("auto", float(one)) for one in temperatures}
        models = self.estimators_ is not None if fitted else self.store == "models"
        outputs = self.outputs_ is not None if fitted else self.store == "outputs"
        kept |= {"outputs"} if models or outputs else set()
        return frozenset(kept | {"models"} if models else kept)

    def _evidence(self):
        return evidence_named(self.signal_)

    def _find_scale(self):
        """Root mean squared residual of records that a model was not trained on (regressors)."""
        if self.signal_ != "log_residual":
            return None
        models = zip(self.signals_[0, 0], self.membership_, strict=True)
        sums = [np.exp(-2 * row[~inside].astype(np.float64)).sum() for row, inside in models]
        return float(np.sqrt(sum(sums) / np.count_nonzero(~self.membership_)))

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

    def check_temperature(self, temperature):
        """Refuse a temperature that the pool did not store.

        Parameters
        ----------
        temperature : float
            Wanted temperature; pools without probabilities take any.

        Raises
        ------
        ValueError
            Names the temperatures that are stored.
        """
        self._temperature_index(temperature)

    def _temperature_index(self, temperature):
        if not self._evidence().has_temperature:
            return 0
        if temperature not in self.temperatures_:
            stored = ", ".join(map(str, self.temperatures_))
            raise ValueError(
                f"The shadow pool stores the temperatures ({stored}), not {temperature}; "
                f"fit it with temperatures including {temperature}."
            )
        return self.temperatures_.index(temperature)

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
        inside = _take(self.membership_, columns)
        return inside if (columns >= 0).all() else inside & (columns >= 0)

    def blocks(self, records, temperature, size):
        """Evidence and training sets, some records at a time, in the order of the pool's columns.

        A memory-mapped array of evidence may be larger than the memory.

        Parameters
        ----------
        records : Records of n records
            Records of the pool; others need ``store="models"``.
        temperature : float
            One of ``temperatures_``.
        size : int
            Most records in a block.

        Yields
        ------
        rows : slice or ndarray of shape (n_rows,)
            Which of the records.
        evidence : ndarray of shape (n_queries, n_estimators, n_rows), dtype float32
            As :meth:`evidence` gives it.
        inside : ndarray of shape (n_estimators, n_rows), dtype bool
            As :meth:`inside` gives it.
        n_inside : ndarray of shape (n_rows,)
            Number of models that were trained on each record.
        """
        t = self._temperature_index(temperature)
        columns = self.locate_usable(records)
        order = None if (np.diff(columns) >= 0).all() else np.argsort(columns, kind="stable")
        for rows in gen_batches(len(records), size):
            rows = rows if order is None else order[rows]
            some = columns[rows]
            n_inside = np.where(some >= 0, self._n_inside[some], 0)
            yield rows, self._evidence_of(records, columns, rows, t), self.inside(some), n_inside

    def _evidence_of(self, records, columns, rows, t):
        columns = columns[rows]
        evidence = _take(self.signals_[t], columns)
        unknown = np.flatnonzero(columns < 0)
        if len(unknown):
            evidence[:, :, unknown] = self._ask_models(records[rows][unknown], t)
        return evidence

    def evidence(self, records, temperature=1.0):
        """Smoothed evidence of each model on each record and its augmentations.

        Parameters
        ----------
        records : Records of n records
            Records of the pool; others need ``store="models"``.
        temperature : float, default=1.0
            One of ``temperatures_``.

        Returns
        -------
        evidence : ndarray of shape (n_queries, n_estimators, n), dtype float32

        Raises
        ------
        ValueError
            When a record is not in the pool and the models were not kept.
        """
        check_records(records)
        t = self._temperature_index(temperature)
        return self._evidence_of(records, self.locate_usable(records), slice(None), t)

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

    def _ask_models(self, records, t):
        queries = augmented(records, self.augment)
        answers = [
            [
                self._smooth_row(query_aligned(model, one.X, self._labels(one)), one.y, t, step)
                for model, step in zip(self.estimators_, self._model_steps, strict=True)
            ]
            for one in queries
        ]
        return np.array(answers)

    def _labels(self, records):
        return records.y if self.classes_ is None else self.classes_

    def _smooth_row(self, outputs, y, t, step):
        evidence = self._evidence()
        if outputs.kind not in evidence.reads:
            needed = " or ".join(map(repr, evidence.reads))
            raise ValueError(
                f"The victim answers {outputs.kind!r}; to be compared with the signal "
                f"{self.signal_!r} of the shadow models it must answer {needed}."
            )
        row = evidence.compute(outputs, y, self.temperatures_[t], step).astype(np.float32)
        if self.resolution_[t]:
            return evidence.smooth(row, self.resolution_[t])
        return np.where(np.isinf(row), evidence.smooth(row, self._fallback_steps[t]), row)

    def victim_evidence(self, victim, records, temperature=1.0):
        """Evidence of the victim, computed and smoothed as that of the shadow models is.

        Parameters
        ----------
        victim : fitted estimator or None
            With None the answers stored with the records are read.
        records : Records of n records
            Labeled records.
        temperature : float, default=1.0
            One of ``temperatures_``.

        Returns
        -------
        evidence : ndarray of shape (n_queries, n), dtype float32
        """
        t = self._temperature_index(temperature)
        if victim is None and self.augment is not None:
            raise ValueError(
                "The shadow pool has augmentations, which the victim must be asked about: pass the "
                "victim instead of stored outputs."
            )
        queries = augmented(records, self.augment)
        positive = self._model_steps[self._model_steps > 0]
        step = np.median(positive) if len(positive) else 0.0
        rows = [self._smooth_row(query(victim, one), one.y, t, step) for one in queries]
        return check_finite(np.array(rows).T).T

    def log_likelihood(self, evidence):
        """Log-probability of the label that goes with some evidence.

        Parameters
        ----------
        evidence : ndarray
            As :meth:`evidence` gives it.

        Returns
        -------
        log_likelihood : ndarray of the same shape
            Log-likelihood, in nats, up to a constant.
        """
        return self._evidence().log_likelihood(evidence, self.scale_)

    def likelihood(self, evidence):
        """Probability of the label that goes with some evidence.

        Parameters
        ----------
        evidence : ndarray
            As :meth:`evidence` gives it.

        Returns
        -------
        likelihood : ndarray of the same shape
            Up to a constant factor.
        """
        return self._evidence().likelihood(evidence, self.scale_)

    def transform(self, X):
        """Evidence of each shadow model on each record, at the first temperature.

        Parameters
        ----------
        X : Records of n records
            Records of the pool; others need ``store="models"``.

        Returns
        -------
        evidence : ndarray of shape (n, n_estimators)
            Higher means more like a member.

        Raises
        ------
        ValueError
            When a record is not in the pool and the models were not kept.
        """
        check_is_fitted(self)
        return self.evidence(X, self.temperatures_[0])[0].T.copy()

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
