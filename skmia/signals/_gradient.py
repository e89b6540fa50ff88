"""Signals of the gradients of the victim's loss."""

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._core.metric_inputs import check_option
from .._core.needs import Needs
from .._core.records import Records, label_rows
from .._core.sklearn import StrOptions
from .._core.validation import check_records, refuse_nan
from ..victims import WhiteBox, open_white_box
from ._base import SignalColumns, VictimSignal

_LETTERS = {"parameters": "w", "inputs": "x"}


@dataclass(frozen=True)
class GradientNorm(VictimSignal):
    """Minus the Euclidean norm of the gradient of a record's loss.

    Training moves the gradients of members towards zero. The name is ``"gradient_norm_w"`` or
    ``"gradient_norm_x"``. See :func:`skmia.victims.open_white_box` for the victims that have
    gradients. Source: Nasr et al. (2019), Rezaei and Liu (2021).

    Parameters
    ----------
    wrt : {"parameters", "inputs"}, default="parameters"
        What the gradient is taken with respect to: the parameters of all layers together, or the
        features of the record.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skmia import Records
    >>> from skmia.signals import GradientNorm
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> GradientNorm().of(LogisticRegression().fit(X, y), Records(X, y)).round(2)
    array([-0.25, -0.35, -0.43, -0.19])
    """

    wrt: Literal["parameters", "inputs"] = "parameters"
    reads = ("proba", "logits", "value")
    has_unit_of_target = True
    access = ("gradients",)

    def __post_init__(self):
        check_option(self.wrt, "wrt", _LETTERS)

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"gradient_norm_{_LETTERS[self.wrt]}"

    def _inspect(self, victim, records):
        white_box = open_white_box(victim)
        return -white_box.gradient_norms(white_box.encode(records.X), records.y, self.wrt)


class GradientStatistics(SignalColumns):
    """Seven statistics of the gradient of each record's loss.

    The l1, l2 and maximum norm, the mean, the skewness, the excess kurtosis and the smallest
    absolute value of the entries. Norms are low for members; the classifier that reads them learns
    the orientation.

    Parameters
    ----------
    victim : fitted estimator
        Model under attack; see :func:`skmia.victims.open_white_box` for those that have gradients.
    wrt : {"parameters", "inputs"}, default="parameters"
        What the gradient is taken with respect to.

    Attributes
    ----------
    n_statistics_ : int
        Number of statistics, 7.

    See Also
    --------
    skmia.attacks.white_box.GradientAttack : Attack with a classifier on these statistics.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skmia import Records
    >>> from skmia.signals import GradientStatistics
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> victim = LogisticRegression().fit(X, y)
    >>> statistics = GradientStatistics(victim).fit(Records(X, y))
    >>> statistics.transform(Records(X, y)).shape
    (4, 7)
    """

    _parameter_constraints = {"victim": "no_validation", "wrt": [StrOptions(set(_LETTERS))]}

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        *,
        wrt: Literal["parameters", "inputs"] = "parameters",
    ) -> None:
        self.victim = victim
        self.wrt = wrt

    def needs(self) -> Needs:
        signal = GradientNorm(self.wrt)
        return Needs(frozenset(signal.reads), access=frozenset(signal.access))

    def fit(self, X: Records, y: Any = None) -> Self:
        check_records(X)
        open_white_box(self.victim)
        self.n_statistics_ = len(WhiteBox.statistics)
        return self

    def transform(self, X: Records) -> np.ndarray:
        check_is_fitted(self)
        records = check_records(X)
        white_box = open_white_box(self.victim)
        inputs = white_box.encode(records.X)
        values = white_box.gradient_statistics(inputs, records.y, self.wrt)
        return label_rows(self, refuse_nan(values), records)

    def _name_columns(self):
        letter = _LETTERS[self.wrt]
        return [f"gradient_{letter}_{name}" for name in WhiteBox.statistics]
