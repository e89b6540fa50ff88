"""Signals as a transformer."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._core.needs import Needs
from .._core.numbers import show
from .._core.outputs import KINDS
from .._core.records import Records
from .._core.sklearn import validate_params_of
from .._core.validation import check_finite, check_outputs_source, check_records, query
from ._base import AnswerSignal, Signal
from ._columns import SignalColumns
from .registry import get_signal


def needs_of_signals(signals):
    """Return the common needs of several signals.

    Parameters
    ----------
    signals : sequence of str or Signal

    Returns
    -------
    needs : Needs
    """
    found = [get_signal(signal) for signal in signals]
    return Needs(
        reads=frozenset(KINDS).intersection(*(signal.reads for signal in found)),
        access=frozenset().union(*(signal.access for signal in found)),
    )


class Signals(SignalColumns):
    """Signals of membership as a matrix.

    Transforms records into one column per signal. Followed by any classifier, it is an attack:
    ``make_pipeline(Signals(victim, ["loss", "entropy"]), LogisticRegression())``.

    Parameters
    ----------
    victim : fitted estimator, default=None
        Classifier or regressor under attack, in a :class:`~sklearn.frozen.FrozenEstimator`. If
        None, the predictions stored by :meth:`skmia.Records.with_outputs` are used.
    signals : sequence of str or Signal, default=("loss",)
        Names as listed by :func:`get_signal_names`, or signal objects with their own settings.

    Attributes
    ----------
    signals_ : list of Signal
        Signals that are computed, one per column.

    See Also
    --------
    skmia.attacks.ThresholdAttack : Attack that compares one signal with a threshold.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skmia import Records
    >>> from skmia.signals import Signals
    >>> X, y = load_iris(return_X_y=True)
    >>> victim = FrozenEstimator(LogisticRegression(max_iter=500).fit(X[::2], y[::2]))
    >>> signals = Signals(victim, ["loss", "correctness"]).fit(Records(X, y))
    >>> signals.transform(Records(X, y)).shape
    (150, 2)
    >>> signals.get_feature_names_out().tolist()
    ['loss', 'correctness']
    """

    _parameter_constraints = {
        "victim": "no_validation",
        "signals": ["array-like", tuple],
    }

    def __init__(
        self, victim: BaseEstimator | None = None, signals: Sequence[str | Signal] = ("loss",)
    ) -> None:
        self.victim = victim
        self.signals = signals

    def needs(self) -> Needs:
        """Return the common needs of the signals.

        Returns
        -------
        needs : Needs
        """
        return needs_of_signals(self.signals)

    def fit(self, X: Records, y: Any = None) -> Self:
        """Check the victim and the signals.

        Parameters
        ----------
        X : Records of n records
            Labeled records.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        validate_params_of(self)
        check_records(X)
        check_outputs_source(self.victim)
        is_single = isinstance(self.signals, str | Signal) or not np.iterable(self.signals)
        if is_single or len(self.signals) == 0:
            raise ValueError(
                f"signals must be a sequence of at least one signal; got {show(self.signals)}."
            )
        self.signals_ = [get_signal(signal) for signal in self.signals]
        return self

    def transform(self, X: Records) -> np.ndarray:
        """Compute the signals of each record.

        Parameters
        ----------
        X : Records of n records
            Labeled records.

        Returns
        -------
        values : ndarray of shape (n, n_signals)
            Higher means more likely a member.
        """
        check_is_fitted(self)
        records = check_records(X)
        outputs, columns = None, []
        for signal in self.signals_:
            if isinstance(signal, AnswerSignal):
                # The victim is queried once for all signals.
                outputs = query(self.victim, records) if outputs is None else outputs
                columns.append(signal(outputs, records.y))
            else:
                columns.append(signal.of(self.victim, records))
        return check_finite(np.column_stack(columns))

    def _name_columns(self):
        return [signal.name for signal in self.signals_]
