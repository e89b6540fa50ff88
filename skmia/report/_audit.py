"""Several attacks on one victim, from one pool of shadow models."""

from datetime import UTC, datetime
from numbers import Integral

import numpy as np
import pandas as pd
from sklearn.base import clone, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from ..metrics._checks import check_confidence_level, check_rate
from ..utils._validation import check_membership, check_records
from ..victims._query import unwrap
from ._baseline import baseline_interval
from ._describe import Clock, describe_data, find_twins, find_versions, measure_performance
from ._measure import COLUMNS, find_subsets, measure
from ._plan import Request, check_attacks, connect, default_attacks, find_obstacle, make_pool
from ._result import AuditResult


def audit(
    victim,
    records,
    membership,
    *,
    attacks=None,
    shadows=64,
    estimator=None,
    group=None,
    fprs=(0.01, 0.001),
    confidence_level=0.95,
    batched="auto",
    n_jobs=None,
    random_state=None,
    verbose=0,
):
    """Attack a victim in several ways and measure how well its members are found.

    The victim is asked once, the shadow models are trained once. The attacks never see who is a
    member: their thresholds are their own, so that the advantage of their guesses is honest.

    Parameters
    ----------
    victim : fitted estimator
        Classifier or regressor, frozen or not. It is not changed.
    records : Records of n records
        Labelled records, members and non-members mixed. Records with one value of a field
        ``group_by`` are kept together by the shadow models.
    membership : array-like of shape (n,)
        1 for the records that the victim was trained on, 0 for others.
    attacks : mapping of str to attack, default=None
        Unfitted attacks by name. One without a victim reads the answers asked once, one without
        shadows gets the common pool. None: a threshold on the loss,
        :class:`~skmia.attacks.ShadowAttack`, :class:`~skmia.attacks.LiRA` and
        :class:`~skmia.attacks.RMIA`.
    shadows : int or ShadowPool, default=64
        Number of shadow models to train, even, or a pool of them fitted on the records.
    estimator : estimator, default=None
        What the shadow models are clones of; None is the victim itself.
    group : str, default=None
        Field of the records by whose values the numbers are broken down as well.
    fprs : sequence of float, default=(0.01, 0.001)
        False positive rates, as fractions, at which the true positive rate is given.
    confidence_level : float, default=0.95
        Of every interval, each by itself.
    batched : "auto" or bool, default="auto"
        Whether many shadow models are trained at once, as in :class:`~skmia.ShadowPool`.
    n_jobs : int, default=None
        Shadow models trained in parallel. The numbers are the same for every value.
    random_state : int, RandomState instance or None, default=None
        Determines the shadow models and whatever else is random.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    result : AuditResult
        The numbers, with what was left out and why in ``notes``.

    Raises
    ------
    TypeError, ValueError, NotFittedError
        When the victim is not fitted or cannot answer the records, a parameter is out of range, or
        membership is not 0 or 1 for each record and both.

    See Also
    --------
    skmia.ShadowPool : The shadow models.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.report import audit
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> victim = DecisionTreeClassifier(random_state=0).fit(members.X, members.y)
    >>> result = audit(victim, records, membership, shadows=8, random_state=0)
    >>> frame = result.to_frame()
    >>> bool(frame.query("attack == 'LiRA' and metric == 'auc'")["estimate"].item() > 0.6)
    True
    """
    check_records(records)
    membership = check_membership(membership, len(records))
    fprs = [check_rate(rate, "fprs") for rate in np.atleast_1d(fprs).tolist()]
    level = check_confidence_level(confidence_level)
    subsets = find_subsets(records, group)
    seeds, clock = _draw_seeds(random_state), Clock()
    with clock("victim"):
        queried = records.with_outputs(victim)
    pooling = (estimator, shadows, batched, n_jobs, verbose, seeds["shadows"], seeds["attacks"])
    request = Request(victim, queried["outputs"], *pooling)
    attacks = default_attacks(request) if attacks is None else check_attacks(attacks)
    possible, notes = _drop_impossible(attacks, request)
    with clock("shadow models"):
        pool = make_pool(request, possible, records)
    fitted, scores = _run_attacks(possible, queried, victim, pool, clock)
    with clock("baseline"):
        settings = {"confidence_level": level, "n_jobs": n_jobs, "random_state": seeds["baseline"]}
        baseline = baseline_interval(records, membership, **settings)
    return AuditResult(
        results=_measure_all(fitted, scores, membership, subsets, fprs, level),
        scores=scores,
        membership=membership,
        victim=_show(unwrap(victim)),
        victim_name=_name(unwrap(victim)),
        task="regression" if is_regressor(unwrap(victim)) else "classification",
        data=describe_data(membership),
        performance=measure_performance(queried["outputs"], records.y, membership),
        baseline=baseline,
        settings=_describe_settings(attacks, pool, group, fprs, level),
        seeds=seeds,
        seconds=clock.read(),
        versions=find_versions(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        notes=notes + find_twins(records, membership),
        record_ids=np.asarray(records.fields.get("record_id", np.arange(len(records)))),
    )


def _draw_seeds(random_state):
    """One integer for each thing that is random, to be written down with the result."""
    drawn = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=3).tolist()
    given = int(random_state) if isinstance(random_state, Integral) else None
    return {"random_state": given, **dict(zip(("shadows", "attacks", "baseline"), drawn))}


def _drop_impossible(attacks, request):
    """The attacks that can run on this victim, and a note for each of the others."""
    obstacles = {name: find_obstacle(attack, request) for name, attack in attacks.items()}
    possible = {name: attack for name, attack in attacks.items() if obstacles[name] is None}
    notes = [f"{name} was left out: {why}." for name, why in obstacles.items() if why is not None]
    if not possible:
        raise ValueError(f"No attack can run on this victim. {' '.join(notes)}")
    return possible, notes


def _run_attacks(attacks, queried, victim, pool, clock):
    fitted, scores = {}, {}
    for name, attack in attacks.items():
        with clock(name):
            fitted[name] = connect(clone(attack), victim, pool).fit(queried)
            scores[name] = fitted[name].score_samples(queried)
    return fitted, scores


def _measure_all(fitted, scores, membership, subsets, fprs, level):
    rows = []
    for name, attack in fitted.items():
        guesses = scores[name] >= attack.offset_
        rows += measure(name, scores[name], guesses, membership, subsets, fprs, level)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _describe_settings(attacks, pool, group, fprs, level):
    return {
        "attacks": {name: _show(attack) for name, attack in attacks.items()},
        "n_shadows": 0 if pool is None else len(pool.membership_),
        "shadow_estimator": None if pool is None else _show(pool.estimator),
        "group": group,
        "fprs": fprs,
        "confidence_level": level,
    }


def _name(model):
    if not isinstance(model, Pipeline):
        return _show(model)
    *steps, last = (unwrap(step) for _, step in model.steps)
    return f"Pipeline({', '.join([*(type(step).__name__ for step in steps), _show(last)])})"


def _show(estimator):
    return " ".join(repr(estimator).split())
