"""Signals as a transformer, and a signal over the training of the victim."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._core.metric_inputs import check_option
from .._core.needs import Needs
from .._core.numbers import check_count, show
from .._core.outputs import KINDS, Outputs
from .._core.query import query
from .._core.records import Records, label_rows
from .._core.validation import check_outputs_source, check_records, refuse_nan
from ..victims import query_stages
from ._base import AnswerSignal, Signal, SignalColumns
from ._registry import get_signal


class Signals(SignalColumns):
    """Signals of membership as a matrix.

    Transforms records into one column per signal, higher for likely members. Followed by any
    classifier, it is an attack:
    ``make_pipeline(Signals(victim, ["loss", "entropy"]), LogisticRegression())``.

    Parameters
    ----------
    victim : fitted estimator, default=None
        Classifier or regressor under attack. If None, the predictions stored by
        :meth:`skmia.Records.with_outputs` are used.
    signals : sequence of str or Signal, default=("loss",)
        Names as listed by :func:`get_signal_names`, or signal objects with their own settings.

    Attributes
    ----------
    signals_ : list of Signal
        Signals that are computed, one per column.

    See Also
    --------
    skmia.attacks.ThresholdAttack : Attack that compares one signal with a threshold.

    Notes
    -----
    Logits of -inf can make infinite values, of the loss for example, which stay as they are. A
    column that is NaN is an error.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skmia import Records
    >>> from skmia.signals import Signals
    >>> X, y = load_iris(return_X_y=True)
    >>> victim = LogisticRegression(max_iter=500).fit(X[::2], y[::2])
    >>> signals = Signals(victim, ["loss", "correctness"]).fit(Records(X, y))
    >>> signals.transform(Records(X, y)).shape
    (150, 2)
    >>> signals.get_feature_names_out().tolist()
    ['loss', 'correctness']
    """

    _parameter_constraints = {"victim": "no_validation", "signals": ["array-like", tuple]}

    def __init__(
        self, victim: BaseEstimator | None = None, signals: Sequence[str | Signal] = ("loss",)
    ) -> None:
        self.victim = victim
        self.signals = signals

    def needs(self) -> Needs:
        found = [get_signal(signal) for signal in self.signals]
        return Needs(
            reads=frozenset(KINDS).intersection(*(signal.reads for signal in found)),
            access=frozenset().union(*(signal.access for signal in found)),
        )

    def fit(self, X: Records, y: Any = None) -> Self:
        check_records(X, targets=True)
        check_outputs_source(self.victim)
        if not np.iterable(self.signals) or len(self.signals) == 0:
            raise ValueError(
                f"signals must be a sequence of at least one signal; got {show(self.signals)}."
            )
        self.signals_ = [get_signal(signal) for signal in self.signals]
        return self

    def transform(self, X: Records) -> np.ndarray:
        check_is_fitted(self)
        records = check_records(X, targets=True)
        outputs, columns = None, []
        for signal in self.signals_:
            if isinstance(signal, AnswerSignal):
                # The victim is queried once for all signals.
                outputs = query(self.victim, records) if outputs is None else outputs
                columns.append(signal(outputs, records.y))
            else:
                columns.append(signal.of(self.victim, records))
        return label_rows(self, refuse_nan(np.column_stack(columns)), records)

    def _name_columns(self):
        return [signal.name for signal in self.signals_]


_SUMMARIES = ("gain", "mean")


@dataclass(frozen=True)
class Trajectory(Signal):
    r"""Change of another signal over the training of the victim, as one number.

    Of two records with the same final loss, the one whose loss fell more during the training is
    more often a member, because what can be learned from other records is learned first. It is
    useful without shadow models; :class:`skmia.attacks.LiRA` on the final outputs is as good.

    Parameters
    ----------
    checkpoints : int or tuple
        The number of equal shares of the rounds of boosted trees (of scikit-learn, XGBoost,
        LightGBM or CatBoost), at least 2; a pool can store the signal of each shadow model. Or a
        tuple of earlier states of the victim, in the order of the training: each is a fitted model,
        or the name of a field of the records with its :class:`~skmia.Outputs`. The victim itself is
        the last state.
    signal : str or AnswerSignal, default="scaled_logit"
        Signal of the outputs at each time; ``"loss"`` for a regressor.
    summary : {"gain", "mean"}, default="gain"
        The last value minus the first, or the mean of all.

    See Also
    --------
    Trajectories : Transformer with the value at each time, for a classifier.

    References
    ----------
    Jagielski, M. et al. (2023). How to combine membership-inference attacks on multiple updated
    machine learning models. PoPETs, for the gain.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> from skmia import Records
    >>> from skmia.signals import Trajectory
    >>> X, y = load_iris(return_X_y=True)
    >>> victim = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(X[::2], y[::2])
    >>> Trajectory(4).of(victim, Records(X, y)[:3]).round(2)
    array([2.34, 2.34, 2.34])
    """

    checkpoints: int | tuple[Any, ...]
    signal: str | AnswerSignal = "scaled_logit"
    summary: Literal["gain", "mean"] = "gain"

    def __post_init__(self):
        _check_times(self.checkpoints)
        _get_answer_signal(self.signal)
        check_option(self.summary, "summary", _SUMMARIES)

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"{_get_answer_signal(self.signal).name}_{self.summary}"

    @property
    def reads(self) -> tuple[str, ...]:  # type: ignore[override]
        return _get_answer_signal(self.signal).reads

    @property
    def access(self) -> tuple[str, ...]:  # type: ignore[override]
        return _list_access(self.checkpoints)

    def of(self, victim: BaseEstimator | None, records: Records) -> np.ndarray:
        values = _follow_signal(
            victim, check_records(records, targets=True), self.checkpoints, self.signal
        )
        return values[-1] - values[0] if self.summary == "gain" else values.mean(axis=0)


class Trajectories(SignalColumns):
    """A signal of each record at several times of the training of the victim.

    The last column is the signal of the victim itself. Followed by a classifier that is fitted on
    records of known membership, it is an attack.

    Parameters
    ----------
    victim : fitted estimator, default=None
        Classifier or regressor under attack. If None, the predictions stored by
        :meth:`skmia.Records.with_outputs` are used, and the checkpoints are names of fields.
    checkpoints : int or tuple, default=10
        The number of equal shares of the rounds of boosted trees (of scikit-learn, XGBoost,
        LightGBM or CatBoost), at least 2; or earlier states of the victim, see :class:`Trajectory`.
    signal : str or AnswerSignal, default="scaled_logit"
        Signal of the outputs at each time; ``"loss"`` for a regressor.

    Attributes
    ----------
    n_times_ : int
        Number of columns.

    See Also
    --------
    Trajectory : Signal that summarizes a trajectory.

    References
    ----------
    Liu, Y. et al. (2022). Membership inference attacks by exploiting loss trajectory. CCS. They
    imitate the training of a victim whose checkpoints they do not have.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> from skmia import Records
    >>> from skmia.signals import Trajectories
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(X[::2], y[::2])
    >>> values = Trajectories(model, 4).fit(Records(X, y))
    >>> values.transform(Records(X, y)[:1]).round(2)
    array([[0.52, 1.38, 2.14, 2.85]])
    """

    _subjects = ("victim", "checkpoints")

    _parameter_constraints = {
        "victim": "no_validation",
        "checkpoints": "no_validation",
        "signal": [str, AnswerSignal],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        checkpoints: int | tuple[Any, ...] = 10,
        *,
        signal: str | AnswerSignal = "scaled_logit",
    ) -> None:
        self.victim = victim
        self.checkpoints = checkpoints
        self.signal = signal

    def needs(self) -> Needs:
        reads = frozenset(_get_answer_signal(self.signal).reads)
        return Needs(reads, access=frozenset(_list_access(self.checkpoints)))

    def fit(self, X: Records, y: Any = None) -> Self:
        records = check_records(X, targets=True)
        check_outputs_source(self.victim)
        self.n_times_ = _check_times(self.checkpoints)
        _follow_signal(self.victim, records[:1], self.checkpoints, self.signal)
        return self

    def transform(self, X: Records) -> np.ndarray:
        check_is_fitted(self)
        records = check_records(X, targets=True)
        values = _follow_signal(self.victim, records, self.checkpoints, self.signal)
        return label_rows(self, refuse_nan(values.T), records)

    def _name_columns(self):
        name = _get_answer_signal(self.signal).name
        return [f"{name}_{k}" for k in range(self.n_times_)]


def _check_times(checkpoints):
    """Check the checkpoints; return the number of times, that of the victim included."""
    if not isinstance(checkpoints, tuple):
        return check_count(checkpoints, "checkpoints (if it is not a tuple)", low=2)
    if not checkpoints:
        raise ValueError("checkpoints must hold at least one earlier state of the victim; got ().")
    return len(checkpoints) + 1


def _get_answer_signal(signal):
    found = get_signal(signal)
    if not isinstance(found, AnswerSignal):
        raise ValueError(f"signal must be a signal of outputs alone; got {show(signal)}.")
    return found


def _list_access(checkpoints):
    """Return what is needed of the victim: the rounds of boosted trees are in its file."""
    return () if isinstance(checkpoints, tuple) else ("file",)


def _follow_signal(victim, records, checkpoints, signal):
    """Compute a signal of each record at each time, shape (n_times, n)."""
    if isinstance(checkpoints, tuple):
        outputs = [_ask_checkpoint(one, records) for one in checkpoints]
        outputs.append(query(victim, records))
    elif victim is None:
        raise ValueError(
            "checkpoints is a number of rounds of boosted trees, which are asked for from the "
            "victim itself; stored outputs are not enough."
        )
    else:
        outputs = query_stages(victim, records.X, checkpoints)
    signal = _get_answer_signal(signal)
    return np.array([signal(one, records.y) for one in outputs])


def _ask_checkpoint(checkpoint, records):
    if not isinstance(checkpoint, str):
        return query(checkpoint, records)
    if not isinstance(records.fields.get(checkpoint), Outputs):
        raise ValueError(
            f"The records have no field {checkpoint!r} with Outputs of a checkpoint; "
            f"their fields: {', '.join(records.fields) or 'none'}."
        )
    return records[checkpoint]
