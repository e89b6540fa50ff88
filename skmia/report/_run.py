"""What the attacks said of one victim: the second of the four values of an audit."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ..base.cross_fitting import assign_folds, cross_fit, judge, learns
from ..base.own_pools import fit_own_pools
from ..base.parts import connect, needs_of
from ._plan import make_plan, make_pool
from ._rounds import Repetitions
from .text import describe_error


@dataclass(frozen=True, eq=False)
class Run:
    """What the attacks said, the shadow models behind them, and what was left out.

    Attributes
    ----------
    attacks : dict of str to attack
        Those that ran, neither connected nor fitted.
    fitted : dict of str to attack
        The same without those that are cross-fitted.
    scores, guesses : dict of str to ndarray of shape (n,)
    judged : dict of str to ndarray of shape (n,), dtype bool
        Records that the attack can judge.
    tested : dict of str to ndarray of shape (n,), dtype bool
        Records by which the attack is tested for chance.
    pool : ShadowPool or None
    notes : list of str
        What was left out and why.
    repetitions : Repetitions or None
        The best attack on shadow models, once :func:`repeat_attack` has run it.
    """

    attacks: dict
    fitted: dict
    scores: dict
    guesses: dict
    judged: dict
    tested: dict
    pool: Any
    notes: list
    repetitions: Repetitions | None = None


def run_attacks(case, clock):
    """Attack a victim in several ways with one pool of shadow models.

    Attacks that take no shadow models run first. One that fails is left out. Those that learn from
    known members learn it of other records than they score.

    Parameters
    ----------
    case : Case
    clock : Clock

    Returns
    -------
    run : Run

    Raises
    ------
    ValueError
        When none of the attacks can run on this victim.
    """
    plan = make_plan(case.attacks, case.request, case.records)
    pool, found, failures = _run_all(plan, case, clock)
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
        notes=notes + [note for name in names for note in _count_unjudged(name, found[name][1])],
    )


def _run_all(plan, case, clock):
    """The pool, what came of each attack that ran, and a line for each that failed."""
    with_pool = {name: bool(needs_of(one).keeps) for name, one in plan.attacks.items()}
    pool, found, failures = None, {}, []
    for name in sorted(plan.attacks, key=with_pool.get):
        if with_pool[name] and pool is None:
            with clock("shadow models"):
                pool = make_pool(case.request, plan.keeps, case.records)
        try:
            with clock(name):
                found[name] = _judge(case, _prepare(plan.attacks[name], case.request, pool))
        except Exception as error:  # of whatever kind: the other attacks go on
            failures.append(f"{name} was left out: {describe_error(error)}")
    return pool, found, failures


def _prepare(attack, request, pool):
    attack, rng = clone(attack), np.random.RandomState(request.attack_seed)
    names = [name for name in attack.get_params() if name.split("__")[-1] == "random_state"]
    given = attack.get_params()
    for name in sorted(names):
        if given[name] is None:
            attack.set_params(**{name: rng.randint(np.iinfo(np.int32).max)})
    return connect(attack, request.victim, pool, stored=True)


def _judge(case, attack):
    """The attack fitted, None where it is cross-fitted, and what it says of the records."""
    queried, seed = case.queried, case.request.attack_seed
    if learns(attack):
        fit_own_pools(attack, queried)  # which membership plays no part in
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
    membership of the others, and all of them together vary by more than permutations do. Those of
    a single fold come from one attack that knows none of its records.
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
