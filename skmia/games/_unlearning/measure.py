"""All attacks on all states of the target models."""

from typing import NamedTuple

import numpy as np

from .attacks import ATTACKS, BOTH, Separation
from .draws import FORGOTTEN, RETAINED


class Measured(NamedTuple):
    """How well each attack separates records, by state and attack."""

    forgotten: dict  # of each state, a dict of attacks
    retained: dict  # of the states before and after
    n_unjudged: int


def measure(states, sides, units, n_shadows, attacks, both):
    """Run the attacks.

    Parameters
    ----------
    states : dict of str to Answers
        What all models answer before, after and retrained.
    sides : ndarray of shape (n_all_models, n), dtype int8
        Sides of the records.
    units : ndarray of shape (n,)
        Unit of each record.
    n_shadows : int
        Number of shadow models, which come first.
    attacks : list of str
        Names of attacks.
    both : bool
        Whether the decrease of the signal is an attack as well.

    Returns
    -------
    measured : Measured
    """
    targets = sides[n_shadows:]

    def separate(name, values, side):
        scores, judged = ATTACKS[name](values, sides, n_shadows, side)
        return Separation(scores, targets, side, judged, units)

    forgotten = {}
    for state, answers in states.items():
        forgotten[state] = {name: separate(name, answers.values, FORGOTTEN) for name in attacks}
        if both:
            fall = states["before"].values - answers.values
            forgotten[state][BOTH] = separate("population", fall, FORGOTTEN)
    lead = "ulira" if "ulira" in attacks else attacks[0]
    retained = {
        state: separate(lead, states[state].values, RETAINED) for state in ("before", "after")
    }
    first = forgotten["after"][lead]
    return Measured(forgotten, retained, int(np.count_nonzero(~first.judged)))
