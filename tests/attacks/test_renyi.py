"""The smallest divergence of many."""

import numpy as np
import pytest

from skmia import Outputs, Records
from skmia.attacks import RenyiAttack
from skmia.metrics.distances import renyi_divergence

RNG = np.random.default_rng(0)


def draw(n, n_classes=4):
    return RNG.dirichlet(np.ones(n_classes), size=n)


def test_scores_are_those_of_two_loops():
    n = 60
    proba, y = draw(n), RNG.integers(4, size=n)
    membership = np.arange(n) % 2
    known = np.arange(n) < 40
    records = Records(np.arange(n), y, outputs=Outputs(proba, classes=[0, 1, 2, 3]))
    # Class 3 has no known member: its records are compared with all known members.
    known &= (y != 3) | (membership == 0)
    attack = RenyiAttack(alpha=0.3, cv=2, random_state=0).fit(records[known], membership[known])
    scores = attack.score_samples(records[40:])
    references = np.flatnonzero(known & (membership == 1))
    for row, score in zip(range(40, n), scores, strict=True):
        same = [k for k in references if y[k] == y[row]] or references
        expected = min(renyi_divergence(proba[row], proba[k], 0.3) for k in same)
        assert score == pytest.approx(-expected, rel=1e-9)


def test_a_member_is_not_its_own_reference():
    proba, y = draw(40), np.zeros(40, dtype=int)
    records = Records(np.arange(40), y, outputs=Outputs(proba, classes=[0, 1, 2, 3]))
    attack = RenyiAttack(random_state=0).fit(records, np.arange(40) % 2)
    assert (attack.score_samples(records) < 0).all()


def test_order_one_is_refused():
    records = Records(np.arange(4), [0, 1, 0, 1], outputs=Outputs(draw(4), classes=[0, 1, 2, 3]))
    with pytest.raises(ValueError, match="alpha must not be 1"):
        RenyiAttack(alpha=1, cv=2).fit(records, [0, 0, 1, 1])
