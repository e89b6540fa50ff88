"""Examining an audit: guards, controls, and repetitions with shadow models as victims."""

from .._core.asking import unwrap
from ..base.parts import has_own_victim
from ..metrics.resolution import check_resolution
from ..victims import CallableVictim
from . import _checks
from ._controls import negative_control, positive_control
from ._curves import rank_attacks
from ._difficulty import measure_difficulty
from ._guards import blind_baseline, find_duplicates, permutation_test
from ._guards._units import name_mixed
from ._power import choose_attack, measure_power
from ._rounds import compare_groups, play_rounds
from ._small_groups import find_small_groups
from .evidence import HIGHEST_LEVEL, count_permutations
from .groups import find_people
from .measure import FEWEST


def examine(case, run, results, seeds, clock, *, controls):
    """Whether the numbers of an audit can be trusted, and how they depend on the pool.

    Parameters
    ----------
    case : Case
        What was attacked.
    run : Run
        The attacks on it.
    results : DataFrame
        Results of the attacks.
    seeds : dict of str to int
    clock : Clock
    controls : bool
        Whether to run the controls.

    Returns
    -------
    parts : dict
        ``baseline``, ``difficulty``, ``permutation``, ``duplicates``, ``controls``, ``power``,
        ``disparity`` and ``checks`` of an :class:`AuditReport`.
    """
    settings = {"confidence_level": case.level, "n_jobs": case.request.n_jobs}
    sides = case.records, case.membership
    with clock("baseline"):
        baseline = blind_baseline(*sides, random_state=seeds["baseline"], **settings)
        difficulty = measure_difficulty(run.pool, *sides)
    with clock("duplicates"):
        duplicates = find_duplicates(*sides, random_state=seeds["checks"])
    with clock("permutations"):
        null = _permute(case, run, seeds["checks"])
    with clock("repetitions"):
        power, disparity, rounds, why_not = _repeat(case, run, seeds["checks"])
    small = find_small_groups(case, results, null.frame, rounds)
    # A finding of nothing is worth as much as the positive control.
    found = null.pvalue <= (1 - case.level) / 2
    kinds = ("positive", "negative") if controls else () if found else ("positive",)
    with clock("controls"):
        done, obstacles = _run_controls(kinds, case, run, seeds["checks"], settings)
    checks = [
        _checks.check_baseline(baseline),
        _checks.check_difficulty(difficulty),
        _checks.check_duplicates(duplicates, len(case.records)),
        _checks.check_resolution(int((~case.membership).sum()), case.fprs),
        _checks.check_permutations(null),
        _checks.check_sign(null.frame, case.level),
        _checks.check_shadows(power, results, why_not),
        *(
            _checks.check_control(kind, done.get(kind), obstacles.get(kind))
            for kind in ("positive", "negative")
        ),
    ]
    if small:
        checks.append(_checks.check_small_groups(small))
    if "group_by" in case.records.fields:
        people = name_mixed(case.membership, case.records["group_by"])
        checks.insert(2, _checks.check_people(*people))
    return {
        "baseline": baseline,
        "difficulty": difficulty,
        "permutation": null,
        "duplicates": duplicates,
        "controls": done,
        "power": power,
        "disparity": disparity,
        "checks": {check.name: check for check in checks},
    }


def _permute(case, run, seed):
    n_nonmembers = int((~case.membership).sum())
    return permutation_test(
        case.membership,
        run.scores,
        max_fprs=[rate for rate in case.fprs if check_resolution(n_nonmembers, rate, "ignore")],
        subsets=case.subsets,
        judged=run.tested,
        n_permutations=count_permutations(case.level),
        group_by=find_people(case.records, case.membership),
        random_state=seed,
    )


def _repeat(case, run, seed):
    """Power and disparity by shadow models treated as the victim, or the reason why not."""
    name = choose_attack(run.fitted, rank_attacks(run.scores, case.membership, run.judged))
    if name is None:
        return None, None, None, "No attack compares the victim with shadow models."
    attack = run.fitted[name]
    try:
        rounds = play_rounds(attack, case.records)
        power = measure_power(attack, case.records)
    except ValueError as error:  # a pool may have too few models in, or out, for some records
        return None, None, None, f"Shadow models cannot be treated as the victim: {error}"
    tests = compare_groups(rounds, case.records, case.subsets, case.level, seed)
    numbers, tests = {"attack": name, "numbers": power}, {"attack": name, "scopes": tests}
    return numbers, tests, rounds, None


def _run_controls(kinds, case, run, seed, settings):
    """The controls of some kinds, and for each that was wanted and is not there the reason."""
    if not kinds:
        return {}, {}
    if min(case.membership.sum(), (~case.membership).sum()) < FEWEST:
        return {}, dict.fromkeys(kinds, "Too few members or non-members.")
    settings = {"random_state": seed, **settings}
    done = {"positive": positive_control(case.records, case.membership, **settings)}
    if "negative" not in kinds:
        return done, {}
    request = case.request
    attacks = {name: one for name, one in run.attacks.items() if not has_own_victim(one)}
    estimator = unwrap(request.victim) if request.estimator is None else request.estimator
    if isinstance(estimator, CallableVictim):
        return done, {"negative": "The victim cannot be trained."}
    if not attacks:
        return done, {"negative": "Every attack has a victim of its own."}
    if run.pool is not None:
        settings["shadows"] = run.pool
    # One of three checks of the same thing, so that it is to raise a false alarm more rarely.
    settings["confidence_level"] = min(1 - (1 - case.level) / 5, HIGHEST_LEVEL)
    done["negative"] = negative_control(
        estimator, case.records, case.membership, attacks=attacks, **settings
    )
    return done, {}
