"""Attack on the Rényi divergence between predictions for a record and for known members."""

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import gen_batches

from .._core.needs import BOTH, Needs
from .._core.probabilities import PROBABILITY_FLOOR, renyi_divergence_of_logs
from .._core.query import query
from .._core.sklearn import Interval
from .._core.types import Seed
from ..base import SupervisedAttack

# Number of values held at once: records x references x classes.
_CELLS = 1 << 22

_LOG_FLOOR = np.log(PROBABILITY_FLOOR)


class RenyiAttack(SupervisedAttack):
    r"""Attack that flags records with predictions close to a known member of the same class.

    The score is minus the smallest Rényi divergence :math:`D_\alpha(p \| p') = \frac{1}{\alpha - 1}
    \log \sum_k p_k^\alpha p_k'^{1 - \alpha}` to the predictions :math:`p'` for known members with
    the record's label. If no known member has this label, all known members are used. Known
    non-members are used only for the threshold.

    Parameters
    ----------
    victim : fitted estimator, default=None
        Classifier under attack. If None, the predictions stored by
        :meth:`skmia.Records.with_outputs` are used.
    alpha : float, default=5e-4
        Order of the divergence, above 0 and not 1. Towards 0 it becomes alpha times the
        Kullback-Leibler divergence of the reference from the answer.
    cross_fit : bool, default=True
        Whether records given to ``fit`` are compared with the members of the other folds; if False,
        they are refused.
    cv : int, default=5
        Number of folds.
    random_state : int, RandomState instance or None, default=None
        Controls the folds.

    Attributes
    ----------
    offset_ : float
        Threshold of the score.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    Notes
    -----
    The thesis prints the divergence without its logarithm and the score without its minus sign. The
    logarithm does not change the ranking; with it, equal predictions have divergence 0.

    References
    ----------
    del Grosso Guzman, G. (2023). Leakage of sensitive data from deep neural networks. PhD thesis,
    equations (2.44) to (2.46).

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia.attacks import RenyiAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> victim = RandomForestClassifier(20, random_state=0).fit(members.X, members.y)
    >>> attack = RenyiAttack(victim, random_state=0).fit(records, membership)
    >>> bool(attack.score(records, membership) > 0.2)
    True
    """

    _parameter_constraints = {
        **SupervisedAttack._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        *,
        alpha: float = 5e-4,
        cross_fit: bool = True,
        cv: int = 5,
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.alpha = alpha
        self.cross_fit = cross_fit
        self.cv = cv
        self.random_state = random_state

    def _needs(self):
        return Needs(frozenset({"proba", "logits"}), known=BOTH)

    def _collect(self, records):
        if self.alpha == 1:
            raise ValueError("alpha must not be 1; use a number close to 1 instead.")
        outputs = query(self.victim, records)
        log_proba = np.maximum(outputs.log_proba(), _LOG_FLOOR)
        return [log_proba, outputs.label_index(records.y)]

    def _learn(self, collected, membership, seed):
        return [part[membership] for part in collected]

    def _judge(self, model, collected):
        (references, labels_of_references), (log_proba, labels) = model, collected
        scores = np.empty(len(labels))
        for label in np.unique(labels):
            of_label = references[labels_of_references == label]
            of_label = of_label if len(of_label) else references
            rows = np.flatnonzero(labels == label)
            for some in gen_batches(len(rows), max(1, _CELLS // of_label.size)):
                here = rows[some]
                divergence = renyi_divergence_of_logs(log_proba[here, None], of_label, self.alpha)
                scores[here] = -divergence.min(axis=1)
        return scores
