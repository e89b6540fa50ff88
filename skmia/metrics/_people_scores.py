"""Scores of people from the scores of their records."""

from typing import Literal, NamedTuple

import numpy as np

from .._core.groups import mean_by_group, number_groups, sum_by_group
from .._core.metric_inputs import check_bits, check_option
from .._core.numbers import show, to_array
from .._core.types import ArrayLike


class PeopleScores(NamedTuple):
    """One score for each person.

    Attributes
    ----------
    people : ndarray of shape (n_people,)
        Names of the people, sorted.
    scores : ndarray of shape (n_people,) or (n_people, k)
        Their scores, higher means more likely a member.
    membership : ndarray of shape (n_people,), dtype bool, or None
        Membership of the people, if the membership of records was given.
    n_records : ndarray of shape (n_people,), dtype int
        Number of records of each person.
    """

    people: np.ndarray
    scores: np.ndarray
    membership: np.ndarray | None
    n_records: np.ndarray


def score_people(
    y_score: ArrayLike,
    groups: ArrayLike,
    *,
    combine: Literal["sum", "mean", "max"] = "sum",
    y_true: ArrayLike | None = None,
) -> PeopleScores:
    """Score people by the scores of their records.

    If all records of a person are in the training set or none is, the person is identified with
    more certainty than each of the records. With k equal scores of the correlation r, the distance
    of members and non-members in standard deviations grows by ``sqrt(k / (1 + (k - 1) * r))`` if
    they are added.

    Parameters
    ----------
    y_score : array-like of shape (n,) or (n, k)
        Finite scores of records, higher means more likely a member, such as log-likelihood ratios;
        several columns, such as signals of k models, are combined separately.
    groups : array-like of shape (n,)
        Person of each record.
    combine : {"sum", "mean", "max"}, default="sum"
        ``"sum"`` is best if the scores are log-likelihood ratios of records that answer
        independently. ``"mean"`` ranks people alike if all have the same number of records.
        ``"max"`` is about the record that betrays the person most.
    y_true : array-like of shape (n,), default=None
        Membership of the records, equal for all records of a person.

    Returns
    -------
    people : PeopleScores
        Names, scores, membership and numbers of records.

    Raises
    ------
    ValueError
        If the lengths differ, a score is not finite, a person has no name, or records of a person
        differ in membership.

    See Also
    --------
    auc_interval : Its `groups` are for scores of records, whose people are the units.
    list_members : Lists people, with scores of known non-members who are people.

    skmia.attacks.attack_people : Attacks people by a pool of shadow models.

    Notes
    -----
    The natural threshold of a sum of log-likelihood ratios, 0, is not calibrated, because records
    of a person depend on each other: take thresholds from people who are not members. Sums of
    people with many records vary more, and set the threshold for all of them. To avoid that, attack
    people instead of records: make a pool of the mean signals of people, see the example, so that
    LiRA learns from the shadow models how the records of a person depend on each other. The models
    of such a pool must have all records of a person or none, as a :class:`~skmia.ShadowPool` fitted
    on records with the field ``group_by`` ensures.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.metrics import auc_interval, score_people
    >>> rng = np.random.default_rng(0)
    >>> person, inside = np.arange(1000) // 10, np.arange(1000) < 500
    >>> scores = inside + 2 * rng.normal(size=1000)
    >>> [round(limit, 2) for limit in auc_interval(inside, scores, groups=person)]
    [0.66, 0.62, 0.69]
    >>> found = score_people(scores, person, y_true=inside)
    >>> [round(limit, 2) for limit in auc_interval(found.membership, found.scores)]
    [0.89, 0.8, 0.94]

    LiRA on people: the mean log odds of the records of each person under 32 shadow models, and
    under the victim.

    >>> from skmia import Outputs, Records, ShadowPool
    >>> from skmia.attacks import LiRA
    >>> shadow_inside = (rng.random((33, 100)) < 0.5)[:, person].T
    >>> log_odds = shadow_inside + 2 * rng.normal(size=(1000, 33))
    >>> of_people = score_people(log_odds, person, combine="mean").scores.T
    >>> is_in = shadow_inside[::10].T
    >>> people = Records.from_ids(np.arange(100), np.zeros(100))
    >>> pool = ShadowPool.from_outputs(of_people[1:], is_in[1:], people, kind="log_odds")
    >>> victim = people.with_fields(outputs=Outputs(of_people[0], kind="log_odds"))
    >>> found = LiRA(None, pool).fit(victim).score_samples(victim)
    >>> [round(limit, 2) for limit in auc_interval(is_in[0], found)]
    [0.85, 0.75, 0.91]
    """
    scores = to_array(y_score, "y_score", "be numbers", np.float64)
    if scores.ndim not in (1, 2) or not len(scores) or not np.isfinite(scores).all():
        raise ValueError(
            f"y_score must be finite, of shape (n,) or (n, k); got {show(scores.shape)}."
        )
    check_option(combine, "combine", ("sum", "mean", "max"))
    people, person = number_groups(groups, len(scores), name="groups")
    counts = np.bincount(person)
    if combine == "max":
        combined = np.full((len(people), *scores.shape[1:]), -np.inf)
        np.maximum.at(combined, person, scores)
    else:
        add = sum_by_group if combine == "sum" else mean_by_group
        columns = scores.reshape(len(scores), -1).T
        with np.errstate(over="ignore", invalid="ignore"):
            found = [add(column, person, len(people)) for column in columns]
        combined = np.reshape(np.transpose(found), (len(people), *scores.shape[1:]))
        if not np.isfinite(combined).all():
            raise ValueError("Sums of y_score overflow; scale the scores, or combine by 'max'.")
    return PeopleScores(people, combined, _read_membership(y_true, people, person), counts)


def _read_membership(y_true, people, person):
    """Return the membership of people, whose records must agree."""
    if y_true is None:
        return None
    membership = check_bits(y_true, "y_true")
    if len(membership) != len(person):
        raise ValueError(
            f"y_true needs one value for each of {len(person)} records; got {len(membership)}."
        )
    n_inside, counts = np.bincount(person, membership), np.bincount(person)
    mixed = (n_inside > 0) & (n_inside < counts)
    if mixed.any():
        raise ValueError(
            f"{mixed.sum()} of {len(people)} people have records that are members and records that "
            f"are not, such as {show(people[mixed.argmax()])}."
        )
    return n_inside > 0
