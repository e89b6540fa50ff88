"""User-level attacks, on people, by shadow models that have all records of a person or none."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator, clone

from .._core.groups import number_groups, sum_by_group
from .._core.metric_inputs import check_option
from .._core.numbers import show
from .._core.outputs import Outputs
from .._core.pseudo_victims import SCORES_FOR_RATE, choose_evenly
from .._core.records import Records
from .._core.types import ArrayLike
from .._core.validation import check_records, order_features
from ..base import check_repeatable, get_neutral, treats_models_as_victims
from ..metrics import conformal_pvalues
from ..shadow import ShadowPool
from ._lira import LiRA

# Number of models that the variance expected of a person counts for.
_STRENGTH = 8

# Fewest models whose spread says something if one of them is left out.
_FEWEST = 3

_ROUNDING = 1e-9


class NumberedPeople:
    """People by the numbers of their records."""

    def __init__(self, numbers):
        self.numbers, self.counts = numbers, np.bincount(numbers)
        self._order = np.argsort(numbers, kind="stable")
        self._starts = np.cumsum(self.counts) - self.counts

    def sum(self, values):
        """Add the values of each person's records, of shape (k, n), in double precision."""
        return self._reduce(np.add, np.asarray(values, dtype=np.float64))

    def add_scores(self, values):
        """Return the same so that people with equal values tie, whatever their order."""
        return np.array([sum_by_group(row, self.numbers, len(self.counts)) for row in values])

    def _reduce(self, by, values):
        return by.reduceat(values[:, self._order], self._starts, axis=1)

    def combine(self, scores, judged, how):
        """Combine scores, of shape (k, n), by the sum or the largest of the judged records.

        Return combined of shape (k, n_people): NaN where the score of a judged record is, or if no
        record of the person is judged.
        """
        if how == "max":
            largest = self._reduce(np.maximum, np.where(judged, scores, -np.inf))
            return np.where(np.isneginf(largest), np.nan, largest)
        total = self.add_scores(np.where(judged, scores, 0.0))
        return np.where(self.sum(judged[None]) > 0, total, np.nan)

    def correlate(self, values, chosen):
        """Estimate the mean correlation of two records of a person over the chosen models.

        Take values of shape (k, n), chosen of shape (k, n_people); return correlation: NaN if no
        person has two records, or two models for them.
        """
        usable = chosen[:, self.numbers] & np.isfinite(values)
        n_models = usable.sum(axis=0)
        held = np.where(usable, values, 0.0)
        residuals = np.where(usable, held - held.sum(axis=0) / np.maximum(n_models, 1), 0.0)
        own = (residuals**2).sum(axis=0)
        scaled = self.sum(own[None])[0]
        # Products of two different records of a person, and their largest possible values.
        shared = (self.sum(residuals) ** 2).sum(axis=0) - scaled
        most = self.sum(np.sqrt(own)[None])[0] ** 2 - scaled
        several = self.counts > 1
        total = most[several].sum()
        # Of records that do not vary beside others that do, rounding is left.
        is_known = total > _ROUNDING * scaled[several].sum()
        return float(shared[several].sum() / total) if is_known else np.nan


def standardize(own, of_models, known, counts):
    """Express scores of people in standard deviations of OUT models.

    Take own of shape (n_people,), of_models, known of shape (k, n_people), counts of shape
    (n_people,); return scores of shape (n_people,): NaN for people with fewer than three such
    models.
    """
    n_models = known.sum(axis=0)
    able = n_models >= _FEWEST
    held = np.where(known, of_models, 0.0)
    mean = held.sum(axis=0) / np.maximum(n_models, 1)
    residuals = np.where(known, held - mean, 0.0)
    squares = (residuals**2).sum(axis=0)
    prior = _expect_variance(squares, n_models, counts)
    scores = np.where(able, _compute_t_statistic(own - mean, squares, n_models, prior), np.nan)
    # Without one of n models, the distance from the mean grows by n / (n - 1).
    rest = np.maximum(n_models - 1, 1)
    distance = residuals * n_models / rest
    left = np.maximum(squares - residuals * distance, 0.0)
    return scores, _compute_t_statistic(distance, left, rest, prior)[known & able]


def _compute_t_statistic(distance, squares, n_models, prior):
    variance = (squares + _STRENGTH * prior) / (n_models - 1 + _STRENGTH)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = distance / np.sqrt(variance * (1 + 1 / np.maximum(n_models, 1)))
    return np.where(distance == 0, 0.0, found)


def _expect_variance(squares, n_models, counts):
    """Return the variance expected of each person.

    A part that records share, and one that averages out.

    A mean over n records has the variance a + b / n, fitted to people by least squares.
    """
    freedom = np.maximum(n_models - 1, 0).astype(np.float64)
    if not freedom.any():
        return np.ones(len(counts))
    per_record = 1 / counts
    found = squares / np.maximum(freedom, 1)
    weights = freedom / freedom.sum()
    level, middle = weights @ found, weights @ per_record
    spread = weights @ (per_record - middle) ** 2
    slope = weights @ ((per_record - middle) * (found - level)) / spread if spread > 0 else 0.0
    # Neither part is below zero.
    slope = np.clip(slope, 0.0, level / middle)
    return np.maximum(level + slope * (per_record - middle), np.finfo(float).tiny)


# Of large pools not all models are treated as the victim, and not fewer than these.
_FEWEST_VICTIMS = 8


def choose_models(attack, n_records):
    """Choose the shadow models that are treated as the victim, evenly over the pool."""
    n_wanted = max(SCORES_FOR_RATE // n_records, _FEWEST_VICTIMS)
    return choose_evenly(len(attack.pool_.membership_), n_wanted)


def shadow_nonmember_scores(attack: BaseEstimator, X: Records) -> np.ndarray:
    """Compute the scores of non-members, from shadow models that are treated as the victim.

    Each shadow model is attacked with the others, and the scores of the records that it was not
    trained on are returned. They calibrate p-values and lists of members if no non-members of the
    victim are known.

    Parameters
    ----------
    attack : attack
        Fitted attack that compares the victim with shadow models and can be repeated on them, such
        as :class:`LiRA` or :class:`RMIA`.
    X : Records of n records
        Records of the pool.

    Returns
    -------
    scores : ndarray of shape (m,)
        Scores of all records by all models that were not trained on them; by some of the models if
        there are more than four million.

    Raises
    ------
    TypeError
        If the attack cannot be repeated on shadow models.
    ValueError
        If the pool has too few models.

    See Also
    --------
    skmia.metrics.list_members : Lists members, calibrated by such scores.
    attack_people : The same for people with several records.

    Notes
    -----
    A p-value from these scores holds if the victim behaves as a shadow model does: trained in the
    same way, on as many records from the same population. To check that, compute the p-values of
    some known non-members: a share of at most ``alpha`` of them should be at most ``alpha``. The
    scores of the attack should be comparable between records, as the scores of :class:`LiRA` are.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia import ShadowPool
    >>> from skmia.attacks import LiRA, shadow_nonmember_scores
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.metrics import list_members
    >>> records, membership = make_membership_problem(300, random_state=0)
    >>> members = records[membership == 1]
    >>> model = RandomForestClassifier(10, random_state=0).fit(members.X, members.y)
    >>> pool = ShadowPool(model, n_estimators=8, random_state=0).fit(records)
    >>> attack = LiRA(model, pool).fit(records)
    >>> nonmembers = shadow_nonmember_scores(attack, records)
    >>> nonmembers.shape
    (1200,)
    >>> scores = attack.score_samples(records)
    >>> listed = list_members(scores, nonmembers, false_share=0.1, from_shadows=True)
    >>> bool(membership[listed.positions].mean() > 0.9)
    True
    """
    records = order_features(attack, check_records(X))
    check_repeatable(attack)
    models = choose_models(attack, len(records))
    found = [
        scores[judged & ~inside]
        for _, scores, inside, judged in attack.score_left_out(records, models)
    ]
    return np.concatenate(found)


# Level of the p-values that a summary counts.
_LEVEL = 0.05


@dataclass(frozen=True)
class PeopleEvidence:
    """Evidence about people, as returned by :func:`attack_people`.

    Attributes
    ----------
    people : ndarray of shape (n_people,)
        Names of the people, sorted.
    scores : ndarray of shape (n_people,)
        Higher means more likely a member.
    n_records : ndarray of shape (n_people,), dtype int
        Number of records of each person.
    judged : ndarray of shape (n_people,), dtype bool
        People with enough shadow models; the others have the neutral score 0.
    nonmember_scores : ndarray of shape (m,)
        The same scores of people by shadow models that were trained on none of their records,
        treated as the victim.
    combine : {"sum", "standardized", "likelihood", "max"}
        How the records of a person were combined.
    correlation : float
        Mean correlation, over shadow models, of two records of a person that the models were not
        trained on; NaN if no person has two records.
    """

    people: np.ndarray
    scores: np.ndarray
    n_records: np.ndarray
    judged: np.ndarray
    nonmember_scores: np.ndarray
    combine: str
    correlation: float

    @property
    def pvalues(self) -> np.ndarray:
        """Share of the scores of non-members that are as high, for each person."""
        return conformal_pvalues(self.scores, self.nonmember_scores)

    def summary(self) -> str:
        """Summarize how many people are found.

        Returns
        -------
        text : str
        """
        counts, n_judged = self.n_records, int(self.judged.sum())
        n_found = int((self.pvalues[self.judged] <= _LEVEL).sum())
        lines = [
            f"{len(counts):,} people with {counts.min():,} to {counts.max():,} records each, "
            f"combine={self.combine!r}",
            f"{n_found:,} of {n_judged:,} have a p-value of at most {_LEVEL}; without members "
            f"about {_LEVEL * n_judged:.3g} would",
            f"calibrated on {len(self.nonmember_scores):,} scores of non-members by shadow models",
        ]
        if n_judged < len(counts):
            lines.append(f"{len(counts) - n_judged:,} people have too few shadow models")
        if np.isfinite(self.correlation):
            lines.append(f"mean correlation of two records of a person: {self.correlation:.2f}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()


def attack_people(
    attack: BaseEstimator,
    X: Records,
    *,
    groups: ArrayLike | None = None,
    combine: Literal["sum", "standardized", "likelihood", "max"] = "sum",
) -> PeopleEvidence:
    """Attack people, whose records are all members or all non-members: a user-level attack.

    An attacker who knows several records of a person can combine the evidence. Each shadow model
    must be trained on all records of a person or on none, as a :class:`~skmia.ShadowPool` fitted on
    records with the field ``group_by`` is.

    Parameters
    ----------
    attack : attack
        Fitted attack that compares the victim with shadow models and can be repeated on them, such
        as :class:`LiRA` or :class:`RMIA`.
    X : Records of n records
        Records of the pool, several for each person.
    groups : array-like of shape (n,), default=None
        Person of each record. If None, the field ``group_by`` of the records.
    combine : {"sum", "standardized", "likelihood", "max"}, default="sum"
        How the records of a person are combined.

        - ``"sum"``: sum of the scores of the records, such as the log likelihood ratios of
          :class:`LiRA` or the log ratios of :class:`RMIA`, as differences from the score that is
          evidence neither for nor against membership. This is best if the signals of the records
          are independent.
        - ``"standardized"``: the same sum, in standard deviations from its mean over OUT models.
          People with few and with many records then have similar false positive rates.
        - ``"likelihood"``: :class:`LiRA` with people in the place of records, on the mean signal of
          the records of each person. It learns how these records depend on each other.
        - ``"max"``: the largest of the scores.

    Returns
    -------
    evidence : PeopleEvidence
        Names, scores, numbers of records, and scores of non-members that calibrate p-values.

    Raises
    ------
    TypeError
        If the attack cannot be repeated on shadow models.
    ValueError
        If the people are not named, a shadow model was trained on some of the records of a person
        and not on others, or no person can be judged.

    See Also
    --------
    skmia.metrics.score_people : Combines given scores, without shadow models.
    skmia.metrics.list_members : Lists people as members.

    Notes
    -----
    The p-values, ``evidence.pvalues``, hold if the victim was trained like the shadow models. They
    are calibrated over people: of those who are not members, one in twenty has a p-value of at most
    0.05, but not each with the same probability. With ``"sum"``, people with many records have more
    of these, because their sums vary more. ``"standardized"`` evens this out and finds fewer
    members: a sum t becomes ``(t - m) / (s * sqrt(1 + 1 / k))`` with the mean m and the standard
    deviation s of the k OUT models, treated as the victim. The variance is shrunk, with the weight
    of 8 models, to a law of the number of records that is fitted to all people.

    References
    ----------
    Carlini, N., Chien, S., Nasr, M., Song, S., Terzis, A. and Tramer, F. (2022). Membership
    inference attacks from first principles. IEEE S&P.

    Zarifzadeh, S., Liu, P. and Shokri, R. (2024). Low-cost high-power membership inference attacks.
    ICML.

    Examples
    --------
    100 people have 5 records each. The model has learned from the records of every other person.

    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skmia import Records, ShadowPool
    >>> from skmia.attacks import LiRA, attack_people
    >>> from skmia.metrics import auc_interval
    >>> rng, person = np.random.default_rng(0), np.arange(500) // 5
    >>> X = rng.normal(size=(500, 40)) + rng.normal(size=(100, 40))[person]
    >>> y = (X[:, 0] + 2 * rng.normal(size=100)[person] > 0).astype(int)
    >>> records, members = Records(X, y, group_by=person), person % 2 == 1
    >>> model = LogisticRegression(C=100).fit(X[members], y[members])
    >>> pool = ShadowPool(model, n_estimators=32, random_state=0).fit(records)
    >>> attack = LiRA(model, pool).fit(records)
    >>> of_records = attack.score_samples(records)
    >>> round(auc_interval(members, of_records, groups=person).estimate, 2)
    0.72
    >>> found = attack_people(attack, records)
    >>> round(auc_interval(found.people % 2, found.scores).estimate, 2)
    0.83
    """
    records = order_features(attack, check_records(X))
    if not treats_models_as_victims(attack):
        raise TypeError(
            "attack must compare the victim with shadow models that can take its place; got "
            f"{type(attack).__name__}. score_people combines its scores."
        )
    check_option(combine, "combine", ("sum", "standardized", "likelihood", "max"))
    source = "group_by" if groups is None else "groups"
    names, numbers = number_groups(_get_groups(records, groups), len(records), source)
    people = NumberedPeople(numbers)
    inside = _read_training_sets(attack.pool_, records, people, names)
    compute = _attack_means if combine == "likelihood" else _attack_scores
    found = compute(attack, records, people, inside, combine)
    return PeopleEvidence(names, found[0], people.counts, *found[1:3], combine, found[3])


def _get_groups(records, groups):
    if groups is not None:
        return groups
    if "group_by" not in records.fields:
        raise ValueError(
            "The people are not known: pass groups=, or records with the field group_by."
        )
    return records["group_by"]


def _read_training_sets(pool, records, people, names):
    """Return which models have all records of each person, where no model may have some of them."""
    inside = people.sum(pool.inside(pool.locate_usable(records)))
    mixed = (inside > 0) & (inside < people.counts)
    if mixed.any():
        person = mixed.any(axis=0)
        first = names.tolist()[person.argmax()]
        raise ValueError(
            f"Of {person.sum()} of {len(names)} people, such as {show(first)}, some shadow models "
            "have only some of the records. Fit the pool on records with the field group_by."
        )
    return inside > 0


def _attack_means(attack, records, people, inside, _):
    """Return the LiRA on the mean signals of people."""
    if not isinstance(attack, LiRA):
        raise TypeError(
            f"combine='likelihood' is for LiRA; got {type(attack).__name__}. Use combine='sum'."
        )
    pool, read = attack.pool_, attack._comparison.reads
    of_models = np.empty((len(inside), len(records)))
    size = max(1, (1 << 20) // len(inside))
    for rows, signals, _, _ in pool.blocks(records, size, read):
        of_models[:, rows] = signals.mean(axis=0)
    of_victim = pool.victim_values(attack.victim, records, read).mean(axis=0)
    correlation = people.correlate(of_models, ~inside)
    means = people.add_scores(of_models) / people.counts
    ids = Records.from_ids(np.arange(len(people.counts)), np.zeros(len(people.counts)))
    stand_in = ShadowPool.from_outputs(means, inside, ids, kind="log_odds", resolution=0.0)
    own = people.add_scores(of_victim[None])[0] / people.counts
    stored = ids.with_fields(outputs=Outputs(own, kind="log_odds"))
    settings = {"victim": None, "shadows": stand_in, "signal": "auto"}
    variance = "example" if attack.variance == "joint" else attack.variance
    settings |= {"variance": variance, "target_fpr": None}
    on_people = clone(attack).set_params(**settings).fit(stored)
    nulls, able = shadow_nonmember_scores(on_people, stored), on_people.can_judge(stored)
    return np.where(able, on_people.score_samples(stored), 0.0), able, nulls, correlation


def _attack_scores(attack, records, people, inside, combine):
    """Return the scores of the records of each person, compared with those by shadow models."""
    judged = attack.can_judge(records)
    models = choose_models(attack, len(records))
    of_models = np.full((len(models), len(records)), np.nan)
    for rows, scores, _, able in attack.score_left_out(records, models):
        of_models[:, rows] = np.where(able, scores, np.nan)
    of_victim = np.where(judged, attack.score_samples(records), np.nan)
    outside = ~inside[models]
    correlation = people.correlate(of_models, outside)
    how = "max" if combine == "max" else "sum"
    away = np.vstack([of_victim, of_models]) - (get_neutral(attack) or 0.0)
    scores = people.combine(away, judged, how)
    own, others = scores[0], scores[1:]
    known = outside & np.isfinite(others)
    if combine == "standardized":
        own, nulls = standardize(own / people.counts, others / people.counts, known, people.counts)
    else:
        nulls = others[known]
    able = np.isfinite(own)
    if not (able.any() and len(nulls)):
        raise ValueError("No person has enough shadow models; fit the pool with more of them.")
    return np.where(able, own, 0.0), able, nulls, correlation
