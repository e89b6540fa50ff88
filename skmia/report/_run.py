"""Running the attacks of an audit on one victim."""

from typing import NamedTuple

from sklearn.base import clone

from ..base import find_judged
from ._plan import connect, find_obstacle, make_pool


class Case(NamedTuple):
    """What is attacked, and how it is measured."""

    records: object
    membership: object  # ndarray of shape (n,), dtype bool
    request: object
    subsets: list  # of (scope, group, mask)
    fprs: list
    level: float  # of confidence


class Run(NamedTuple):
    """Fitted attacks, their scores, the shadow models behind them, and what was left out."""

    fitted: dict
    scores: dict
    judged: dict  # of each attack, a mask of the records that it can judge
    pool: object
    notes: list


def run_attacks(attacks, request, records, queried, clock):
    """Attack a victim in several ways with one pool of shadow models.

    Parameters
    ----------
    attacks : dict of str to attack
        Unfitted.
    request : Request
        The victim and the wishes as to shadow models.
    records : Records of n records
    queried : Records of n records
        With the victim's answers.
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
    obstacles = {name: find_obstacle(attack, request) for name, attack in attacks.items()}
    possible = {name: attack for name, attack in attacks.items() if obstacles[name] is None}
    notes = [f"{name} was left out: {why}." for name, why in obstacles.items() if why is not None]
    if not possible:
        raise ValueError(f"No attack can run on this victim. {' '.join(notes)}")
    with clock("shadow models"):
        pool = make_pool(request, possible, records)
    fitted, scores, judged = {}, {}, {}
    for name, attack in possible.items():
        with clock(name):
            fitted[name] = connect(clone(attack), request.victim, pool).fit(queried)
            scores[name] = fitted[name].score_samples(queried)
            judged[name] = find_judged(fitted[name], queried)
        notes += _count_unjudged(name, judged[name])
    return Run(fitted, scores, judged, pool, notes)


def _count_unjudged(name, judged):
    n_left_out = int((~judged).sum())
    if not n_left_out:
        return []
    records = "1 record" if n_left_out == 1 else f"{n_left_out:,} records"
    return [
        f"{records} cannot be judged by {name}, for lack of IN or OUT shadow models, and "
        f"{'is' if n_left_out == 1 else 'are'} left out of its numbers."
    ]
