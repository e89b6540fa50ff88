"""Membership of anything in a range around each record."""

import copy
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator

from .._core.asking import check_victim
from .._core.needs import BOTH
from .._core.numbers import as_numbers, show
from .._core.randomness import check_random_state
from .._core.records import Records
from .._core.sklearn import at_least
from .._core.types import Seed
from .._core.user_functions import call_given
from .._core.validation import check_records
from ..base import BaseAttack, PoolAttack, connect
from ..base._parts import is_open
from ..shadow import ShadowPool
from ._ranges import GaussianRange
from ._rmia import RMIA


def _check_trim(trim):
    """Check the two shares between which sorted scores are averaged."""
    ends = as_numbers(trim, "trim", "two numbers from 0 to 1")
    if ends.shape != (2,) or not 0 <= ends[0] < ends[1] <= 1:
        raise ValueError(
            f"trim must be two numbers from 0 to 1, the smaller one first; got {show(trim)}."
        )


def _average(scores, low, high):
    """Return the mean of each column between two quantiles, of at least one score."""
    n = len(scores)
    first = min(round(low * n), n - 1)
    last = max(round(high * n), first + 1)
    return np.sort(scores, axis=0)[first:last].mean(axis=0)


class RangeAttack(BaseAttack):
    r"""Range membership: whether any record in a range around each record is a training record.

    An attacker may know a record only approximately: a photo in another crop, a patient with one
    unknown value. The attack draws points of the range of each record, scores each with a
    membership attack, and averages the scores after it has trimmed the lowest, and possibly the
    highest.

    Parameters
    ----------
    victim : fitted estimator, default=None
        Model under attack, in a :class:`~sklearn.frozen.FrozenEstimator`. If None, that of
        ``attack``.
    attack : BaseAttack, default=None
        Unfitted attack that scores the points, with or without its own victim and shadow models.
        It must not learn from known members. If None, :class:`RMIA`.
    shadows : ShadowPool, default=None
        A fitted pool in a :class:`~sklearn.frozen.FrozenEstimator`; an unfitted one is fitted on
        the records given to ``fit``. If the attack uses shadow models, they must have been kept
        (``store="models"``), because they are queried for the points.
    sampler : callable, default=None
        ``sampler(records, rng)`` returns :class:`~skmia.Records` with one point of the range of
        each record, in their order. A point must depend on its record and ``rng`` alone. If None,
        :class:`GaussianRange` with its default scale, for standardized features.
    n_samples : int, default=10
        Number of points per record.
    trim : tuple of two floats, default=(0.4, 1.0)
        Quantiles between which the scores of a range are averaged: (0, 1) for their mean. Most
        points of a range are not training records, so the lowest scores say little.
    random_state : int, RandomState instance or None, default=None
        Controls the points. Pass an int for reproducible results.

    Attributes
    ----------
    attack_ : BaseAttack
        The fitted attack that scores the points.
    offset_ : float
        Threshold of the score; without ``membership`` the one of ``attack_``, which is meant for
        single records: pass the membership of known ranges, or use ROC curves.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    Raises
    ------
    ValueError
        If the attack learns from known members, if the victim or the shadow models cannot be
        queried for the points, or if the attack can judge none of them.

    See Also
    --------
    GaussianRange : Points by noise on all features.
    UnknownValues : Points by values that are not known.

    Notes
    -----
    The records given to the methods are the centers of the ranges, and membership says whether any
    training record is in the range. With m points and their scores
    :math:`s_{(1)} \le \ldots \le s_{(m)}`, the score of a range is

    .. math:: \frac{1}{\lfloor q_e m \rceil - \lfloor q_s m \rceil}
        \sum_{i = \lfloor q_s m \rceil + 1}^{\lfloor q_e m \rceil} s_{(i)},

    with ``trim`` = :math:`(q_s, q_e)` and at least one term. A shadow model counts as trained on a
    point if it was trained on the center, so that attacks that compare IN and OUT models work. For
    centers that are not records of the pool all models are OUT, as they are for an attacker whose
    shadow models were trained on other records; the attack then needs a setting that does without
    IN models, such as ``online=False``. The victim is queried ``n_samples`` times per record.

    References
    ----------
    Tao, J. and Shokri, R. (2025). Range membership inference attacks. SaTML.

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia import ShadowPool
    >>> from skmia.attacks import GaussianRange, LiRA, RangeAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> model = RandomForestClassifier(20, random_state=0).fit(members.X, members.y)
    >>> pool = ShadowPool(model, n_estimators=8, store="models", random_state=0).fit(records)
    >>> attack = RangeAttack(
    ...     FrozenEstimator(model), LiRA(), FrozenEstimator(pool),
    ...     sampler=GaussianRange(0.3), random_state=0,
    ... )
    >>> bool(attack.fit(records, membership).score(records, membership) > 0.3)
    True
    """

    _parameter_constraints = {
        **BaseAttack._parameter_constraints,
        "attack": [BaseAttack, None],
        "shadows": "no_validation",
        "sampler": [callable, None],
        "n_samples": [at_least(1)],
        "trim": [list, tuple],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        attack: BaseAttack | None = None,
        shadows: ShadowPool | FrozenEstimator | None = None,
        *,
        sampler: Callable | None = None,
        n_samples: int = 10,
        trim: tuple[float, float] = (0.4, 1.0),
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.attack = attack
        self.shadows = shadows
        self.sampler = sampler
        self.n_samples = n_samples
        self.trim = trim
        self.random_state = random_state

    def _make_attack(self):
        return RMIA() if self.attack is None else self.attack

    def _needs(self):
        needs = self._make_attack().needs()
        keeps = needs.keeps | {"models"} if needs.keeps else needs.keeps
        return replace(
            needs,
            access=needs.access | {"queries"},
            keeps=keeps,
            lacks=tuple(f"attack__{name}" for name in needs.lacks),
        )

    def _fit(self, records, membership):
        _check_trim(self.trim)
        attack = clone(self._make_attack())
        if attack.needs().known == BOTH:
            raise ValueError(
                f"{type(attack).__name__} learns from known members, and would judge points of a "
                "range after it has learned from their center; use an attack that does not."
            )
        if self.shadows is not None and is_open(attack, "shadows"):
            attack.set_params(shadows=self.shadows)
        if self.victim is not None:
            connect(attack, self.victim)
        if attack.victim is None:
            raise ValueError(
                "RangeAttack queries the victim for points that are not among the records; set "
                "victim, stored outputs do not suffice."
            )
        check_victim(attack.victim)
        self._seed = int(check_random_state(self.random_state).randint(2**32, dtype=np.uint32))
        self.attack_ = attack.fit(records)
        self._check_shadows()
        if not self._can_judge(records).any():
            raise ValueError(self._say_why_not())

    def _check_shadows(self):
        pool = getattr(self.attack_, "pool_", None)
        if pool is not None and pool.estimators_ is None:
            raise ValueError(
                "RangeAttack queries the shadow models for points that are not in the pool; fit it "
                'with store="models".'
            )

    def _say_why_not(self):
        return (
            f"{type(self.attack_).__name__} can judge no point of a range, because it needs models "
            "that were trained on the centers, which are not in the pool; set online=False if it "
            "has this setting, or use another attack."
        )

    def _draw(self, records):
        """Yield the attack and one point of the range of each record, ``n_samples`` times."""
        sampler = GaussianRange() if self.sampler is None else self.sampler
        rng = np.random.RandomState(self._seed)
        for _ in range(self.n_samples):
            points = call_given(sampler, "sampler", "f(records, rng)", records, rng)
            check_records(points)
            if len(points) != len(records):
                raise ValueError(
                    "sampler must return one point for each record; it returned "
                    f"{len(points)} for {len(records)}."
                )
            if "outputs" in points.fields:  # of the centers
                fields = {k: v for k, v in points.fields.items() if k != "outputs"}
                points = Records(points.X, points.y, **fields)
            attack = self.attack_
            if isinstance(attack, PoolAttack):
                attack = copy.copy(attack)
                attack.pool_ = attack.pool_.with_relatives(points, records)
            yield attack, points

    def _can_judge(self, records):
        return np.all([attack.can_judge(points) for attack, points in self._draw(records)], axis=0)

    def _score_samples(self, records):
        judged, found = np.ones(len(records), dtype=bool), []
        for attack, points in self._draw(records):
            found.append(attack.score_samples(points))
            judged &= attack.can_judge(points)
        neutral = np.nextafter(self.attack_.offset_, -np.inf)
        return np.where(judged, _average(np.array(found), *self.trim), neutral)

    def _natural_offset(self, records):
        return self.attack_.offset_
