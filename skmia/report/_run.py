"""Running the attacks of an audit on one victim."""

from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from ..base.cross_fitting import cross_fit, find_folds, judge, learns
from ..base.own_pools import fit_own_pools
from ..base.parts import connect, needs_of
from ._plan import make_plan, make_pool


class Case(NamedTuple):
    """What is attacked, and how it is measured."""

    records: object
    membership: object  # ndarray of shape (n,), dtype bool
    request: object
    subsets: list  # of (scope, group, mask)
    fprs: list
    level: float  # of confidence


class Run(NamedTuple):
    """What the attacks said, the shadow models behind them, and what was left out."""

    attacks: dict  # those that ran, neither connected nor fitted
    fitted: dict  # without those that are cross-fitted
    scores: dict
    guesses: dict
    judged: dict  # of each attack, a mask of the records that it can judge
    tested: dict  # of each attack, a mask of those by which it is tested for chance
    pool: object
    notes: list


def run_attacks(attacks, request, records, queried, membership, clock):
    """Attack a victim in several ways with one pool of shadow models.

    Attacks that take no shadow models run first. One that fails is left out.

    Parameters
    ----------
    attacks : dict of str to attack
        Unfitted.
    request : Request
        The victim and the wishes as to shadow models.
    records : Records of n records
    queried : Records of n records
        With the victim's answers.
    membership : ndarray of shape (n,), dtype bool
        Attacks that learn from known members learn it of other records than they score.
    clock : callable
        Measures time, ``with clock("part")``.

    Returns
    -------
    run : Run

    Raises
    ------
    ValueError
        When none of the attacks can run on this victim.
    """
    plan = make_plan(attacks, request, records)
    notes, found = list(plan.notes), {}
    with_pool = {name: bool(needs_of(one).keeps) for name, one in plan.attacks.items()}
    pool = None
    for name in sorted(plan.attacks, key=with_pool.get):
        if with_pool[name] and pool is None:
            with clock("shadow models"):
                pool = make_pool(request, plan.keeps, records)
        try:
            with clock(name):
                attack = _prepare(plan.attacks[name], request, pool)
                found[name] = _judge(attack, queried, membership, request.attack_seed)
        except Exception as error:  # of whatever kind: the other attacks go on
            notes.append(f"{name} was left out: {_describe(error)}")
    if not found:
        raise ValueError(f"No attack could run on this victim. {' '.join(notes)}")
    names = [name for name in plan.attacks if name in found]
    return Run(
        attacks={name: plan.attacks[name] for name in names},
        fitted={name: found[name][0] for name in names if found[name][0] is not None},
        scores={name: found[name][1].scores for name in names},
        guesses={name: found[name][1].guesses for name in names},
        judged={name: found[name][1].judged for name in names},
        tested={name: _find_tested(*found[name], queried, membership, request) for name in names},
        pool=pool,
        notes=notes + [note for name in names for note in _count_unjudged(name, found[name][1])],
    )


def _prepare(attack, request, pool):
    attack, rng = clone(attack), np.random.RandomState(request.attack_seed)
    names = [name for name in attack.get_params() if name.split("__")[-1] == "random_state"]
    given = attack.get_params()
    for name in sorted(names):
        if given[name] is None:
            attack.set_params(**{name: rng.randint(np.iinfo(np.int32).max)})
    return connect(attack, request.victim, pool, stored=True)


def _judge(attack, queried, membership, seed):
    """The attack fitted, None where it is cross-fitted, and what it says of the records."""
    if learns(attack):
        fit_own_pools(attack, queried)  # which membership plays no part in
        fitted, judged = None, cross_fit(attack, queried, membership, seed)
    else:
        fitted = attack.fit(queried)
        judged = judge(fitted, queried)
    if not np.isfinite(judged.scores).all():
        raise ValueError(
            f"{np.sum(~np.isfinite(judged.scores))} of {len(queried)} scores are not finite."
        )
    return fitted, judged


def _find_tested(fitted, judged, queried, membership, request):
    """Records whose scores do not depend on how membership was assigned to them.

    Attacks that learn from known members are cross-fitted: the scores of one fold depend on the
    membership of the others, and all of them together vary by more than permutations do. Those of
    a single fold come from one attack that knows none of its records.
    """
    if fitted is not None:
        return judged.judged
    return judged.judged & (find_folds(queried, membership, request.attack_seed) == 0)


def _describe(error):
    """What happened, as one sentence."""
    text = " ".join(str(error).split()).rstrip(".")
    return f"{text}." if isinstance(error, ValueError) else f"{type(error).__name__}: {text}."


def _count_unjudged(name, judged):
    n_left_out = int((~judged.judged).sum())
    if not n_left_out:
        return []
    records = "1 record" if n_left_out == 1 else f"{n_left_out:,} records"
    return [
        f"{records} cannot be judged by {name}, for lack of IN or OUT shadow models, and "
        f"{'is' if n_left_out == 1 else 'are'} left out of its numbers."
    ]
