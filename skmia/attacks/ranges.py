"""Ranges around a record, in which :class:`skmia.attacks.RangeAttack` searches for members."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone

from .._core.containers import check_single_values, concat_columns, is_frame, is_tensor
from .._core.needs import BOTH
from .._core.numbers import as_numbers, show
from .._core.query import check_victim
from .._core.randomness import check_random_state
from .._core.records import Records, get_origin
from .._core.sklearn import at_least
from .._core.types import Frozen, Seed
from .._core.validation import call_given, check_records
from ..base import BaseAttack, PoolAttack, connect, is_open, open_pool
from ..shadow import ShadowPool
from ..signals import as_rows_of_numbers, as_scale, check_scale
from ._quantile import mix
from ._rmia import RMIA

__all__ = [
    "GaussianRange",
    "UnknownValues",
]


def _replace(records, X):
    """Return the records with other features; what is stored about the old ones is dropped."""
    fields = {name: values for name, values in records.fields.items() if name != "outputs"}
    return Records(X, records.y, **fields)


@dataclass(frozen=True)
class GaussianRange:
    """Points around each record by Gaussian noise on all features.

    Parameters
    ----------
    scale : float or sequence of float, default=0.1
        Standard deviation of the noise, one for all features or one per feature.

    See Also
    --------
    skmia.attacks.RangeAttack : Attack on the points of a range.
    UnknownValues : Points by values that are not known.

    Notes
    -----
    A draw is the same noise for all records, so that a point only depends on its record.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia import Records
    >>> from skmia.attacks.ranges import GaussianRange
    >>> points = GaussianRange(0.5)(Records(np.zeros((2, 3))), np.random.RandomState(0))
    >>> points.X.round(2)
    array([[0.88, 0.2 , 0.49],
           [0.88, 0.2 , 0.49]])
    """

    scale: float | Sequence[float] = 0.1

    def __post_init__(self):
        check_scale(self.scale)

    def __call__(self, records: Records, rng: np.random.RandomState) -> Records:
        """Draw one point of the range of each record.

        Parameters
        ----------
        records : Records of n records
            Records in the middle of their ranges, with features that are numbers.
        rng : RandomState
            Source of the noise.

        Returns
        -------
        points : Records of n records
            Points in the order of the records.
        """
        values, restore = as_rows_of_numbers(records.X, "GaussianRange")
        shape = values.shape[1:]
        noise = as_scale(self.scale, shape, "GaussianRange") * rng.normal(size=shape)
        dtype = values.dtype if values.dtype.kind == "f" else np.dtype(float)
        return _replace(records, restore((values + noise).astype(dtype)))


@dataclass(frozen=True)
class UnknownValues:
    """Points that complete each record by values of other records in some columns.

    The range of a record holds all records that agree with it in the other columns. The values of
    the unknown columns are not read; all of a point come from one record of the population.

    Parameters
    ----------
    columns : sequence
        Unknown columns, by name if the records are a DataFrame, otherwise by place.
    population : Records
        Records to take values from, with the same columns.

    See Also
    --------
    skmia.attacks.RangeAttack : Attack on the points of a range.
    GaussianRange : Points by noise on all features.

    Notes
    -----
    Which record the values come from is determined by the content of a record and the draw, so that
    a point does not depend on the other records.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia import Records
    >>> from skmia.attacks.ranges import UnknownValues
    >>> others = Records(np.array([[7.0, 70.0], [8.0, 80.0]]))
    >>> draw = UnknownValues([1], others)
    >>> draw(Records(np.zeros((3, 2))), np.random.RandomState(0)).X.tolist()
    [[0.0, 70.0], [0.0, 70.0], [0.0, 70.0]]
    """

    columns: Sequence
    population: Records

    def __post_init__(self):
        if not isinstance(self.population, Records) or not len(self.population):
            raise ValueError(f"population must be Records; got {show(self.population)}.")
        listed = isinstance(self.columns, list | tuple | np.ndarray)
        if not listed or not len(self.columns):
            raise ValueError(f"columns must be a list of columns; got {show(self.columns)}.")

    def __call__(self, records: Records, rng: np.random.RandomState) -> Records:
        """Draw one point of the range of each record.

        Parameters
        ----------
        records : Records of n records
            Records whose unknown columns are completed.
        rng : RandomState
            Source of the draw.

        Returns
        -------
        points : Records of n records
            Points in the order of the records.

        Raises
        ------
        ValueError
            If X is not a table with the columns of the population.
        """
        X, donors = records.X, self.population.X
        self._check(X, donors)
        seed = int(rng.randint(2**63, dtype=np.int64))
        donor = mix(Records(self._blank(X), records.y).fingerprint, seed) % np.uint64(len(donors))
        donor = donor.astype(np.int64)
        if not is_frame(X):
            changed = np.array(X, dtype=np.result_type(X, donors))
            changed[:, list(self.columns)] = donors[donor][:, list(self.columns)]
            return _replace(records, changed)
        columns = {name: X[name].reset_index(drop=True) for name in X.columns}
        for name in self.columns:
            both = concat_columns([X[name], donors[name]])
            columns[name] = both.iloc[len(X) + donor].reset_index(drop=True)
        return _replace(records, pd.DataFrame(columns))

    def _check(self, X, donors):
        for rows in (X, donors):
            check_single_values(rows, "UnknownValues")
            if is_tensor(rows):
                raise ValueError("UnknownValues needs a table or an array; got a tensor.")
        if is_frame(X):
            same = is_frame(donors) and X.columns.equals(donors.columns)
            missing = [name for name in self.columns if name not in X.columns]
        else:
            same = not is_frame(donors) and X.shape[1] == donors.shape[1]
            places = set(range(-X.shape[1], X.shape[1]))
            whole = [isinstance(place, int | np.integer) for place in self.columns]
            missing = [
                place
                for place, is_whole in zip(self.columns, whole, strict=True)
                if not is_whole or isinstance(place, bool) or place not in places
            ]
        if not same:
            raise ValueError("The population of UnknownValues must have the records' columns.")
        if missing:
            raise ValueError(f"X has no column {show(missing[0])}, which columns names.")

    def _blank(self, X):
        """Return the columns that are known."""
        if is_frame(X):
            return X.drop(columns=list(self.columns))
        return np.delete(X, list(self.columns), axis=1)


def _check_trim(trim):
    """Check the two shares between which sorted scores are averaged."""
    ends = as_numbers(trim, "trim", "two numbers from 0 to 1")
    if ends.shape != (2,) or not 0 <= ends[0] < ends[1] <= 1:
        raise ValueError(
            f"trim must be two numbers from 0 to 1, the smaller one first; got {show(trim)}."
        )


def _average_quantiles(scores, low, high):
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
        Model under attack. If None, that of ``attack``.
    attack : BaseAttack, default=None
        Unfitted attack that scores the points, with or without its own victim and shadow models.
        It must not learn from known members. If None, :class:`~skmia.attacks.RMIA`.
    shadows : ShadowPool or int, default=None
        A fitted pool; an unfitted one is fitted once on the table from which the records given to
        ``fit`` were taken. An int is the number of clones of the victim to train. If the attack
        uses shadow models, they must have been kept (``store="models"``), because they are queried
        for the points.
    sampler : callable, default=None
        ``sampler(records, rng)`` returns :class:`~skmia.Records` with one point of the range of
        each record, in their order. A point must depend on its record and ``rng`` alone. If None,
        :class:`GaussianRange` with its default scale, for standardized features.
    n_samples : int, default=10
        Number of points per record.
    trim : tuple of two floats, default=(0.4, 1.0)
        Quantiles between which the scores of a range are averaged: (0, 1) for their mean. Most
        points of a range are not training records, so the lowest scores are not informative.
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
    Membership says whether any training record is in the range around a record. With m points and
    their scores :math:`s_{(1)} \le \ldots \le s_{(m)}`, the score of a range is

    .. math:: \frac{1}{\lfloor q_e m \rceil - \lfloor q_s m \rceil}
        \sum_{i = \lfloor q_s m \rceil + 1}^{\lfloor q_e m \rceil} s_{(i)},

    with ``trim`` = :math:`(q_s, q_e)` and at least one term. A shadow model counts as trained on a
    point if it was trained on the center. For centers that are not records of the pool all models
    are OUT, so the attack needs a setting that does without IN models, such as ``online=False``.
    The victim is queried ``n_samples`` times per record.

    References
    ----------
    Tao, J. and Shokri, R. (2025). Range membership inference attacks. SaTML.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia import ShadowPool
    >>> from skmia.attacks import LiRA, RangeAttack
    >>> from skmia.attacks.ranges import GaussianRange
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(300, random_state=0)
    >>> members = records[membership == 1]
    >>> model = RandomForestClassifier(10, random_state=0).fit(members.X, members.y)
    >>> pool = ShadowPool(model, n_estimators=4, store="models", random_state=0).fit(records)
    >>> attack = RangeAttack(
    ...     model, LiRA(), pool,
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
        shadows: ShadowPool | Frozen | int | None = None,
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
            attack.set_params(shadows=open_pool(self, get_origin(records)))
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
        pool = getattr(self.attack_, "pool_", None)
        if pool is not None and pool.estimators_ is None:
            raise ValueError(
                "RangeAttack queries the shadow models for points that are not in the pool; fit it "
                'with store="models".'
            )
        if not self._can_judge(records).any():
            raise ValueError(
                f"{type(self.attack_).__name__} can judge no point of a range, because it needs "
                "models that were trained on the centers, which are not in the pool; set "
                "online=False if it has this setting, or use another attack."
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
        return np.where(judged, _average_quantiles(np.array(found), *self.trim), neutral)

    def _natural_offset(self, records):
        return self.attack_.offset_
