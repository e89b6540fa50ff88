"""Attack that compares one signal with a threshold."""

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator

from .._core.needs import Needs
from .._core.query import query
from .._core.sklearn import Interval
from .._core.validation import check_outputs_source
from ..base import BaseAttack
from ..signals import POOLED, Loss, Signal, get_signal, threshold_signal_of
from ..victims import get_kind


class ThresholdAttack(BaseAttack):
    """Attack that compares one signal of the victim with a threshold.

    Parameters
    ----------
    victim : fitted estimator, default=None
        Classifier or regressor under attack. If None, the predictions stored by
        :meth:`skmia.Records.with_outputs` are used.
    signal : str or Signal, default="auto"
        Signal to threshold, see :func:`skmia.signals.get_signal_names`. ``"auto"`` is the loss of a
        classifier with probabilities or of a regressor, the margin (``"hinge"``) of a classifier
        with decision values alone, and for labels whether they are correct (``"correctness"``).
    mean_train_loss : float, default=None
        Mean loss of the victim on its training records, if it is known: a finite number, 0 or
        more, in nats (classifier) or squared units of y (regressor; of several targets, the mean
        over them). It becomes the threshold of the loss, as Yeom et al. propose, unless
        ``membership`` is given to ``fit``. If None, the threshold is the mean of the signal
        over the records given to ``fit``.

    Attributes
    ----------
    offset_ : float
        Threshold of the signal, of which more means more likely a member: the loss has a minus
        sign. With ``membership`` it is the best threshold on the records given to ``fit``, and
        ``mean_train_loss`` is not used; else the negative ``mean_train_loss`` if it is given, or
        the mean signal over these records.
    signal_ : Signal
        Signal that is thresholded.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    Raises
    ------
    ValueError
        If the threshold would be the mean of a signal with infinite values, which logits of -inf
        make, or learned from them.

    See Also
    --------
    LiRA : Likelihood-ratio attack that compares the signal with shadow models.

    References
    ----------
    Yeom, S., Giacomelli, I., Fredrikson, M. and Jha, S. (2018). Privacy risk in machine learning:
    analyzing the connection to overfitting. CSF.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia.attacks import ThresholdAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> victim = RandomForestClassifier(50, random_state=0).fit(members.X, members.y)
    >>> attack = ThresholdAttack(victim, signal="loss").fit(records)
    >>> bool(attack.score(records, membership) > 0.5)
    True

    The default signal suits every kind of victim:

    >>> from sklearn.svm import SVC
    >>> attack = ThresholdAttack(SVC(C=100).fit(members.X, members.y)).fit(records)
    >>> attack.signal_.name, bool(attack.score(records, membership) > 0.1)
    ('hinge', True)
    """

    _parameter_constraints = {
        **BaseAttack._parameter_constraints,
        "signal": [str, Signal],
        "mean_train_loss": [Interval(Real, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        *,
        signal: str | Signal = "auto",
        mean_train_loss: float | None = None,
    ) -> None:
        self.victim = victim
        self.signal = signal
        self.mean_train_loss = mean_train_loss

    def _needs(self):
        if self.signal == "auto":
            losses = frozenset(Loss.reads)
            return Needs(POOLED | losses if self.mean_train_loss is None else losses)
        signal = get_signal(self.signal)
        return Needs(frozenset(signal.reads), access=frozenset(signal.access))

    def _fit(self, records, membership):
        check_outputs_source(self.victim)
        self.signal_ = self._choose_signal(records)
        if self.mean_train_loss is not None and self.signal_.name != "loss":
            raise ValueError(
                "mean_train_loss is a threshold of the signal 'loss'; "
                f"the signal is {self.signal_.name!r}."
            )

    def _choose_signal(self, records):
        if self.signal != "auto":
            return get_signal(self.signal)
        stored = self.victim is None
        return threshold_signal_of(query(None, records).kind if stored else get_kind(self.victim))

    def _score_samples(self, records):
        return self.signal_.of(self.victim, records)

    def _natural_offset(self, records):
        if self.mean_train_loss is not None:
            return -self.mean_train_loss
        scores = self.score_samples(records)
        n_infinite = np.count_nonzero(np.isinf(scores))
        if n_infinite:
            raise ValueError(
                f"The mean of the signal {self.signal_.name!r} is not a threshold, because it is "
                f"infinite for {n_infinite} of {len(scores)} records, as logits of -inf make it; "
                'use a signal without logarithms, such as "confidence".'
            )
        # Rounding moves the mean of equal scores past them.
        return np.clip(scores.mean(), scores.min(), scores.max())
