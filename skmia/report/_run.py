"""The attacks on one victim: the second of the four values of an audit."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base import get_pool
from ..base._cross_fitting import assign_folds, cross_fit, judge, learns
from ..base._parts import connect, fit_own_pools, needs_of
from ._growth import grow_pool
from ._plan import make_pool, prepare
from ._rounds import Repetitions
from .text import describe_error


@dataclass(frozen=True, eq=False)
class Run:
    """Scores and guesses of the attacks, their shadow models, and what was left out.

    Attributes
    ----------
    attacks : dict of str to attack
        Attacks that ran, in their unfitted state.
    fitted : dict of str to attack
        The same attacks fitted, without those that are cross-fitted.
    scores, guesses : dict of str to ndarray of shape (n,)
    judged : dict of str to ndarray of shape (n,), dtype bool
        Records that the attack can judge.
    tested : dict of str to ndarray of shape (n,), dtype bool
        Records on which the attack is compared with chance.
    pool : ShadowPool or None
    notes : list of str
        Sentences on what was left out and why.
    left_out : list of str
        A sentence on each attack that did not run.
    growth : dict or None
        How the audit chose the number of shadow models, see :func:`grow_pool`.
    repetitions : Repetitions or None
        The best attack on shadow models, once :func:`repeat_attack` has run it.
    file_scores : ndarray of shape (n,) or None
        Scores of the attack on the file, which share the checks of the records.
    """

    attacks: dict
    fitted: dict
    scores: dict
    guesses: dict
    judged: dict
    tested: dict
    pool: Any
    notes: list
    growth: dict | None = None
    left_out: list = ()
    repetitions: Repetitions | None = None
    file_scores: np.ndarray | None = None


def run_attacks(case, plan, clock):
    """Attack a victim in several ways with one pool of shadow models.

    Attacks without shadow models run first. An attack that fails is left out. Attacks that learn
    from known members learn from other records than those that they score.

    Parameters
    ----------
    case : Case
    plan : Plan
    clock : Clock

    Returns
    -------
    run : Run

    Raises
    ------
    ValueError
        If none of the attacks can run on this victim.
    """
    pool, growth, found, failures = _run_all(plan, case, clock)
    notes = [*plan.notes, *failures]
    if not found:
        raise ValueError(f"No attack could run on this victim. {' '.join(notes)}")
    names = [name for name in plan.attacks if name in found]
    return Run(
        attacks={name: plan.attacks[name] for name in names},
        fitted={name: found[name][0] for name in names if found[name][0] is not None},
        scores={name: found[name][1].scores for name in names},
        guesses={name: found[name][1].guesses for name in names},
        judged={name: found[name][1].judged for name in names},
        tested={name: _choose_tested(case, *found[name]) for name in names},
        pool=pool,
        growth=growth,
        left_out=notes,
        notes=notes + [note for name in names for note in _count_unjudged(name, found[name][1])],
    )


def _run_all(plan, case, clock):
    """The pool, how it grew, the result of each attack that ran, a sentence on each that failed."""
    with_pool = {name: bool(needs_of(attack).keeps) for name, attack in plan.attacks.items()}
    pool, growth, found, failures = None, None, {}, []
    for name in sorted(plan.attacks, key=with_pool.get):
        if with_pool[name] and pool is None:
            with clock("shadow models"):
                pool, growth = _get_pool(plan, case, clock)
        try:
            with clock(name):
                attack = prepare(plan.attacks[name], case.request)
                found[name] = _judge(case, connect(attack, case.request.victim, pool, stored=True))
        except Exception as error:  # whatever it is, the other attacks can still run
            failures.append(f"{name} was left out: {describe_error(error)}")
    return pool, growth, found, failures


def _get_pool(plan, case, clock):
    """The fitted pool that the attacks share, and how it grew; None and None without a pool."""
    request = case.request
    if not plan.keeps:
        return None, None
    if not request.trains_pool:
        return get_pool(request.shadows, case.records), None
    if request.chooses_size:
        return grow_pool(case, plan, clock)
    return make_pool(request, plan.keeps).fit(case.records), None


def _judge(case, attack):
    """The fitted attack, or None if it is cross-fitted, and its judgment of the records."""
    queried, seed = case.queried, case.request.attack_seed
    if learns(attack):
        fit_own_pools(attack, queried)  # once for all folds, because it does not use membership
        fitted, judged = None, cross_fit(attack, queried, case.membership, seed)
    else:
        fitted = attack.fit(queried)
        judged = judge(fitted, queried)
    if not np.isfinite(judged.scores).all():
        raise ValueError(
            f"{np.sum(~np.isfinite(judged.scores))} of {len(queried)} scores are not finite."
        )
    return fitted, judged


def _choose_tested(case, fitted, judged):
    """Records whose scores do not depend on how membership was assigned to them.

    Attacks that learn from known members are cross-fitted: the scores of one fold depend on the
    membership of the others, so the scores of all folds vary by more than permutations show. The
    scores of a single fold come from one attack that has not seen the membership of its records.
    """
    if fitted is not None:
        return judged.judged
    folds = assign_folds(case.queried, case.membership, case.request.attack_seed)
    return judged.judged & (folds == 0)


def _count_unjudged(name, judged):
    n_left_out = int((~judged.judged).sum())
    if not n_left_out:
        return []
    records = "1 record" if n_left_out == 1 else f"{n_left_out:,} records"
    return [
        f"{records} cannot be judged by {name}, for lack of IN or OUT shadow models, and "
        f"{'is' if n_left_out == 1 else 'are'} left out of its numbers."
    ]
