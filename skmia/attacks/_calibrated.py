"""Difficulty calibration: attacks with one reference value per record."""

from dataclasses import replace
from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator

from .._core.moments import compute_both_moments, compute_moments
from .._core.needs import NON_MEMBERS
from .._core.pseudo_victims import compare_left_out
from .._core.records import Records
from .._core.sklearn import StrOptions
from .._core.types import Frozen
from .._core.validation import check_records
from ..base import Comparison, PoolAttack
from ..shadow import ShadowPool
from ..signals import POOLED, Loss, ScaledLogit, Signal
from ._lira import SidesComparison


class AwayFromOut(SidesComparison):
    """Signal minus the mean over OUT models."""

    least, online = (0, 1), False

    def __init__(self, reads="auto"):
        self.reads = reads

    def score_sides(self, target, sides):
        return self._compare(target, *sides[:2])

    def score(self, target, shadows, inside, outside):
        return self._compare(target, None, compute_moments(shadows, outside))

    def _compare(self, target, into, out):
        return (target - out.mean).mean(axis=0)

    def _score_left_out(self, shadows, inside, models, others):
        return compare_left_out(self._compare, shadows, inside, models, others, online=self.online)[
            0
        ]


class AwayFromMiddle(AwayFromOut):
    """Signal minus the midpoint of the means over IN and over OUT models."""

    least, online = (1, 1), True

    def score(self, target, shadows, inside, outside):
        return self._compare(target, *compute_both_moments(shadows, inside, outside))

    def _compare(self, target, into, out):
        return (target - (into.mean + out.mean) / 2).mean(axis=0)


class OutRank(Comparison):
    """Share of OUT models whose signal is at most the victim's."""

    least, neutral = (0, 1), 0.5

    def __init__(self, reads="auto"):
        self.reads = reads

    def score(self, target, shadows, inside, outside):
        below = ((shadows <= target[:, None]) & outside).sum(axis=1)
        return (below / outside.sum(axis=0)).mean(axis=0)


class PopulationRank(Comparison):
    """Share of a population whose signal is at most the record's."""

    neutral = 0.5

    def __init__(self, population, reads):
        self.population, self.reads = population, reads

    def score(self, target, shadows, inside, outside):
        rows = zip(self.population, target, strict=True)
        return np.mean(
            [np.searchsorted(known, row, side="right") / len(known) for known, row in rows], axis=0
        )


class CalibratedAttack(PoolAttack):
    r"""Difficulty calibration: the victim's signal relative to a reference value of the record.

    Parameters
    ----------
    victim : fitted estimator, default=None
        Model under attack. If None, the predictions stored by :meth:`skmia.Records.with_outputs`
        are used.
    shadows : ShadowPool or int
        A fitted pool, or an unfitted one, which is fitted once on the table from which the records
        given to ``fit`` were taken. An int is the number of clones of the victim to train, also
        once per table; to set ``n_jobs`` or ``random_state``, pass a pool.
    reference : {"out", "midpoint", "rank", "population"}, default="out"
        - ``"out"``: signal minus the mean over OUT models (Watson et al.);
        - ``"midpoint"``: signal minus the midpoint of the means over IN and over OUT models
          (Sablayrolles et al.);
        - ``"rank"``: share of OUT models whose signal is at most the victim's (attack R of Ye et
          al.); it has as many distinct values as there are OUT models;
        - ``"population"``: share of the population whose signal is at most the record's (attack P
          of Ye et al.); the shadow models only set the threshold.
    signal : "auto", str or Signal, default="auto"
        Signal that is compared.

        - ``"auto"``: the log odds of the label (``"scaled_logit"``); for a model without
          probabilities, the margin (``"hinge"``); for a regressor, minus the log residual
          (``"log_residual"``). With ``reference="midpoint"``, minus the loss is used instead of the
          log odds, see Notes;
        - another signal that the pool stores, or that is computed from one: ``"loss"`` and
          ``"confidence"`` are computed from the log odds.
    population : Records, default=None
        Records for ``reference="population"``, preferably known non-members.
    target_fpr : float, default=None
        Without ``membership``, the threshold is set so that this share of non-members is flagged,
        as measured on shadow models treated as the victim. The rate holds only if the victim was
        trained like the shadow models and on as many records (``max_samples`` of the pool); ``fit``
        warns if it was not.

    Attributes
    ----------
    offset_ : float
        Threshold of the score; by default with the highest balanced accuracy when shadow models
        are treated as the victim (with fewer than 4 models: 0, and 0.5 for the two shares).
    pool_ : ShadowPool
        The fitted pool.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    Raises
    ------
    ValueError
        If no record has the shadow models that the reference needs, or the population is missing.

    See Also
    --------
    LiRA : Likelihood-ratio attack that also models the spread of the signal.

    Notes
    -----
    The published forms of ``"out"`` and ``"midpoint"`` compare losses, as ``signal="loss"`` does.
    ``"auto"`` selects the signal that was stronger on five problems: the loss for ``"midpoint"``,
    the log odds for ``"out"``.

    References
    ----------
    Watson, L., Guo, C., Cormode, G. and Sablayrolles, A. (2022). On the importance of difficulty
    calibration in membership inference attacks. ICLR.

    Sablayrolles, A., Douze, M., Schmid, C., Ollivier, Y. and Jegou, H. (2019). White-box vs
    black-box: Bayes optimal strategies for membership inference. ICML.

    Ye, J., Maddi, A., Murakonda, S. K., Bindschaedler, V. and Shokri, R. (2022). Enhanced
    membership inference attacks against machine learning models. CCS.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia.attacks import CalibratedAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(300, random_state=0)
    >>> members = records[membership == 1]
    >>> model = RandomForestClassifier(10, random_state=0).fit(members.X, members.y)
    >>> attack = CalibratedAttack(model, shadows=8).fit(records)
    >>> bool(attack.score(records, membership) > 0.3)
    True
    """

    _parameter_constraints = {
        **PoolAttack._parameter_constraints,
        "reference": [StrOptions({"out", "midpoint", "rank", "population"})],
        "signal": [str, Signal],
        "population": [Records, None],
    }

    _compares = POOLED

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        shadows: ShadowPool | Frozen | int | None = None,
        *,
        reference: Literal["out", "midpoint", "rank", "population"] = "out",
        signal: str | Signal = "auto",
        population: Records | None = None,
        target_fpr: float | None = None,
    ) -> None:
        self.victim = victim
        self.shadows = shadows
        self.reference = reference
        self.signal = signal
        self.population = population
        self.target_fpr = target_fpr

    def _needs(self):
        needs = super()._needs()
        if self.reference == "population" and self.population is None:
            return replace(needs, known=NON_MEMBERS, lacks=("population",))
        return needs

    def _compare(self, records):
        if (self.population is None) == (self.reference == "population"):
            raise ValueError(
                'population is needed for reference="population" and for no other; '
                f"got reference={self.reference!r} and population={self.population!r}."
            )
        reads = self._reads()
        if (
            self.reference == "midpoint"
            and self.signal == "auto"
            and self.pool_.signal_ == ScaledLogit.name
        ):
            reads = Loss()
        if self.reference == "population":
            check_records(self.population, targets=True)
            values = self.pool_.victim_values(self.victim, self.population, reads)
            return PopulationRank(np.sort(values, axis=1), reads)
        kinds = {"out": AwayFromOut, "midpoint": AwayFromMiddle, "rank": OutRank}
        comparison = kinds[self.reference](reads)
        if self.reference != "rank":
            comparison.unit = self.pool_.to_answers().choose_unit(reads)
        return comparison
