"""Running the attacks of an audit on one victim."""

from typing import NamedTuple

from sklearn.base import clone

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
    fitted, scores = {}, {}
    for name, attack in possible.items():
        with clock(name):
            fitted[name] = connect(clone(attack), request.victim, pool).fit(queried)
            scores[name] = fitted[name].score_samples(queried)
    return Run(fitted, scores, pool, notes)
