"""Several attacks on one victim, from one pool of shadow models."""

import re
from datetime import UTC, datetime
from numbers import Integral

import numpy as np
import pandas as pd
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline

from .._core.asking import unwrap
from .._core.checks import check_confidence_level, check_rates
from .._core.randomness import check_random_state
from .._core.validation import check_records
from ..victims import CallableVictim
from ._describe import Clock, describe_data, find_versions, measure_performance
from ._examine import examine
from ._plan import Request, check_pool_settings, choose_attacks
from ._report import AuditReport
from ._run import Case, run_attacks
from .evidence import count_permutations
from .groups import find_subsets
from .measure import COLUMNS, measure, widen
from .victim import prepare_victim, query_prepared

# In quotes; ends in the name that is kept.
_FULL_PATH = re.compile(r"""(['"])(?:/|[A-Za-z]:[/\\])[^'"]*?([^'"/\\]+)[/\\]*\1""")


def audit(
    victim,
    records,
    membership=None,
    *,
    attacks="default",
    shadows=64,
    estimator=None,
    group=None,
    fprs=(0.01, 0.001),
    confidence_level=0.95,
    controls=False,
    batched="auto",
    checkpoint=None,
    n_jobs=None,
    random_state=None,
    verbose=0,
):
    """Attack a victim in several ways and measure how well its members are found.

    The victim is asked once, the shadow models are trained once. No attack is told which of the
    records that it scores are members: its threshold is its own, or comes from other records, so
    that the advantage of its guesses is honest.
    Whether the numbers can be trusted is checked as well: whether members and non-members come from
    one population, whether records have copies on the other side (a warning is given above 10%),
    and whether a permuted membership gives less.

    Parameters
    ----------
    victim : estimator
        Classifier or regressor; fitted, frozen or not, or unfitted, and then a clone of it is
        trained on the members. It is not changed. If it is unfitted and the records hold stored
        predictions (a field ``outputs``), these are attacked instead, and the estimator is only
        used to train shadow models; ``membership`` is then needed.
    records : Records of n records
        Labeled records, members and non-members mixed. Records with one value of a field
        ``group_by`` are kept together by the shadow models.
    membership : array-like of shape (n,), default=None
        1 for the records that the victim was trained on, 0 for others. None makes a random half
        the members of a victim that is unfitted.
    attacks : "default" or mapping of str to attack, default="default"
        Unfitted attacks by name: attacks on membership, or classifiers made of them or of
        :class:`~skmia.signals.Signals`, such as a Pipeline, a stack or a search. Open ``victim``
        and ``shadows`` parameters are set; stored outputs are read where they suffice. Attacks that
        learn from known members are cross-fitted in five folds: each record is scored by an attack
        that has learned from the other folds, and its score is its rank within its fold. Their
        intervals are computed for half as many records, because folds that are alike by chance
        count twice. What an attack needs is compared with what there is before a shadow model is
        trained, see :class:`skmia.base.Needs`; what cannot run, or fails, is left out and named in
        ``notes``.
        "default": a threshold on the loss, :class:`~skmia.attacks.ShadowAttack`,
        :class:`~skmia.attacks.LiRA` and :class:`~skmia.attacks.RMIA`.
    shadows : int or ShadowPool, default=64
        Number of shadow models to train, even, or a pool of them fitted on the records.
    estimator : estimator, default=None
        What the shadow models are clones of; None is the victim itself.
    group : str or list of str, default=None
        Fields of the records by whose values the numbers are broken down as well. Up to twenty
        classes of a classifier are without being asked for, under the name ``class``.
    fprs : sequence of float, default=(0.01, 0.001)
        False positive rates, as fractions in (0, 1], at which the true positive rate is given;
        at least one.
    confidence_level : float, default=0.95
        Level of each interval, and one minus it the level of the verdict; at most
        0.9999, which takes 99,999 permutations of membership.
    controls : bool, default=False
        Whether to attack a victim that must be caught and one that must not be, see
        :func:`positive_control` and :func:`negative_control`. It takes the training of 16 trees
        and of one more victim.
    batched : "auto" or bool, default="auto"
        Whether many shadow models are trained at once, as in :class:`~skmia.ShadowPool`.
    checkpoint : str or Path, default=None
        Folder that keeps every finished shadow model, as in :class:`~skmia.ShadowPool`: an audit
        that was interrupted goes on from there when it is run again, with the same records, model
        and ``random_state``. Pools of attacks' own and the controls are not kept.
    n_jobs : int, default=None
        Shadow models trained in parallel. The numbers are the same for every value.
    random_state : int, RandomState instance or None, default=None
        Determines the shadow models and whatever else is random.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    report : AuditReport
        The numbers and checks, with what was left out and why in ``notes``.

    Raises
    ------
    TypeError, ValueError, NotFittedError
        When the victim cannot answer the records, is frozen and not fitted, or is fitted and there
        is not a membership; when a parameter is out of range, or membership is not 0 or 1 for each
        record and both.

    See Also
    --------
    skmia.ShadowPool : The shadow models.
    blind_baseline, permutation_test, find_duplicates, positive_control, negative_control :
        The checks, one by one.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia import audit
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> victim = DecisionTreeClassifier(random_state=0).fit(members.X, members.y)
    >>> report = audit(victim, records, membership, shadows=8, random_state=0)
    >>> report.evidence
    'leak'
    >>> frame = report.to_frame()
    >>> auc = frame.query("attack == 'LiRA' and metric == 'auc' and scope == 'overall'")
    >>> bool(auc["estimate"].item() > 0.6)
    True
    """
    check_records(records)
    check_pool_settings("audit", batched=batched, n_jobs=n_jobs, verbose=verbose)
    fprs = check_rates(fprs, "fprs")
    level = check_confidence_level(confidence_level)
    count_permutations(level)  # refused before anything is trained
    _check_checkpoint(checkpoint, shadows)
    seeds, clock = _draw_seeds(random_state), Clock()
    with clock("victim"):
        victim, membership, notes = prepare_victim(victim, records, membership, seeds["victim"])
        queried, remarks = query_prepared(victim, records)
    is_classification = not is_regressor(unwrap(victim))
    subsets = find_subsets(records, group, classes=is_classification)
    pooling = (estimator, shadows, batched, n_jobs, verbose, seeds["shadows"], seeds["attacks"])
    case = Case(
        records,
        membership,
        Request(victim, queried["outputs"], *pooling, checkpoint),
        subsets,
        fprs,
        level,
    )
    attacks = choose_attacks(attacks, case.request)
    run = run_attacks(attacks, case.request, records, queried, membership, clock)
    results = _measure_all(run, case)
    return AuditReport(
        results=results,
        scores=run.scores,
        membership=membership,
        victim=_show(unwrap(victim)),
        victim_name=_name(unwrap(victim)),
        task="classification" if is_classification else "regression",
        data=describe_data(membership),
        performance=measure_performance(queried["outputs"], records.y, membership),
        **examine(case, run, results, seeds, clock, controls=controls),
        settings=_describe_settings(attacks, run.pool, group, fprs, level),
        seeds=seeds,
        seconds=clock.read(),
        versions=find_versions(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        notes=_join_lines(
            *notes,
            *remarks,
            *run.notes,
            *_name_other_victims(run.attacks, victim),
            *getattr(run.pool, "notes_", []),
        ),
        record_ids=np.asarray(records.fields.get("record_id", np.arange(len(records)))),
        people=records.fields.get("group_by"),
        judged=run.judged,
    )


def _join_lines(*notes):
    """Notes of one line each; messages of other packages in them have several."""
    return [" ".join(note.split()) for note in notes]


def _check_checkpoint(checkpoint, shadows):
    if checkpoint is not None and not isinstance(shadows, Integral):
        raise ValueError(
            "checkpoint is the folder of shadow models that are trained here, and shadows is a "
            "pool, which has a checkpoint of its own."
        )


def _draw_seeds(random_state):
    """One integer for each thing that is random, to be written down with the result."""
    names = ("shadows", "attacks", "baseline", "victim", "checks")
    drawn = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=len(names))
    given = int(random_state) if isinstance(random_state, Integral) else None
    return {"random_state": given, **dict(zip(names, drawn.tolist()))}


def _measure_all(run, case):
    rows = []
    for name, scores in run.scores.items():
        subsets = [(*names, mask & run.judged[name]) for *names, mask in case.subsets]
        numbers = measure(name, scores, run.guesses[name], case._replace(subsets=subsets))
        rows += numbers if name in run.fitted else map(widen, numbers)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _name_other_victims(attacks, victim):
    """Notes on attacks that hold a model of their own: their numbers are not the audited one's."""
    notes = []
    for name, attack in attacks.items():
        settings = attack.get_params().items()
        held = [unwrap(one) for setting, one in settings if setting.split("__")[-1] == "victim"]
        others = [one for one in held if one is not None and not _is_same(one, unwrap(victim))]
        if others:
            notes.append(
                f"{name} attacks a model that it holds itself, {_show(others[0])}, and not the "
                "audited one; its numbers are of that model."
            )
    return notes


def _is_same(one, other):
    if isinstance(one, CallableVictim) and isinstance(other, CallableVictim):
        return one.function is other.function  # a clone of it asks the same model
    return one is other


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
    """On one line, with the name alone of a file or folder, such as that of a cache."""
    return _FULL_PATH.sub(r"\1\2\1", " ".join(repr(estimator).split()))
