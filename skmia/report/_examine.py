"""Examining an audit: guards, controls, and repetitions with shadow models as victims."""

import numpy as np

from ..metrics import resolvable_fpr
from ..victims import CallableVictim
from ..victims._query import unwrap
from . import _checks
from ._controls import negative_control, positive_control
from ._curves import rank_attacks
from ._groups import find_whole_groups
from ._guards import blind_baseline, find_duplicates, permutation_test
from ._measure import FEWEST
from ._repeats import choose_attack, compare_groups, measure_power


def examine(
    run, request, records, membership, results, subsets, fprs, level, controls, seeds, clock
):
    """Whether the numbers of an audit can be trusted, and how they depend on the pool.

    Parameters
    ----------
    run : Run
        Attacks on the victim.
    request : Request
        What was asked for.
    records : Records of n records
    membership : ndarray of shape (n,), dtype bool
    results : DataFrame
        The numbers.
    subsets : list of (scope, group, mask)
    fprs : list of float
    level : float
        Of confidence.
    controls : bool
        Whether to run the controls.
    seeds : dict of str to int
    clock : Clock

    Returns
    -------
    parts : dict
        ``baseline``, ``permutation``, ``duplicates``, ``controls``, ``power``, ``disparity`` and
        ``checks`` of an :class:`AuditReport`.
    """
    settings = {"confidence_level": level, "n_jobs": request.n_jobs}
    with clock("baseline"):
        baseline = blind_baseline(records, membership, random_state=seeds["baseline"], **settings)
    with clock("duplicates"):
        duplicates = find_duplicates(records, membership, random_state=seeds["checks"])
    n_nonmembers = int((~membership).sum())
    resolvable = resolvable_fpr(n_nonmembers)
    with clock("permutations"):
        null = permutation_test(
            membership,
            run.scores,
            n_permutations=_count_permutations(level),
            max_fprs=[rate for rate in fprs if rate >= resolvable * (1 - 1e-9)],
            group_by=find_whole_groups(records, membership),
            random_state=seeds["checks"],
        )
    with clock("repetitions"):
        power, disparity = _repeat(run, records, membership, subsets, level)
    run_controls = _run_controls if controls else _skip_controls
    with clock("controls"):
        done, obstacles = run_controls(run, request, records, membership, seeds, settings)
    checks = [
        _checks.check_baseline(baseline),
        _checks.check_duplicates(duplicates, len(records)),
        _checks.check_resolution(n_nonmembers, fprs, resolvable),
        _checks.check_permutations(null.frame, null.n_permutations),
        _checks.check_sign(null.frame),
        _checks.check_shadows(power, results),
        *(
            _checks.check_control(kind, done.get(kind), obstacles.get(kind))
            for kind in ("positive", "negative")
        ),
    ]
    return {
        "baseline": baseline,
        "permutation": null,
        "duplicates": duplicates,
        "controls": done,
        "power": power,
        "disparity": disparity,
        "checks": {check.name: check for check in checks},
    }


def _count_permutations(level):
    """So many that a p-value can fall well below one minus the level."""
    return int(np.clip(5 / (1 - level), 1000, 10_000)) - 1


def _repeat(run, records, membership, subsets, level):
    name = choose_attack(run.fitted, rank_attacks(run.scores, membership))
    if name is None or len(run.pool.membership_) < 4:
        return None, None
    attack = run.fitted[name]
    try:
        power = measure_power(attack, run.pool, records)
        tests = compare_groups(attack, run.pool, records, subsets, level)
    except ValueError:  # a pool from elsewhere may have too few models in or out for some records
        return None, None
    return {"attack": name, "numbers": power}, {"attack": name, "scopes": tests}


def _skip_controls(*_):
    return {}, {}


def _run_controls(run, request, records, membership, seeds, settings):
    if min(membership.sum(), (~membership).sum()) < FEWEST:
        too_few = "Too few members or non-members."
        return {}, {"positive": too_few, "negative": too_few}
    settings = {"random_state": seeds["checks"], **settings}
    done = {"positive": positive_control(records, membership, **settings)}
    attacks = {name: one for name, one in run.fitted.items() if one.victim is None}
    estimator = unwrap(request.victim) if request.estimator is None else request.estimator
    if isinstance(estimator, CallableVictim):
        return done, {"negative": "The victim cannot be trained."}
    if not attacks:
        return done, {"negative": "Every attack has a victim of its own."}
    pool = {} if run.pool is None else {"shadows": run.pool}
    done["negative"] = negative_control(
        estimator, records, membership, attacks=attacks, **pool, **settings
    )
    return done, {}
