"""Theorem 5.2.1 of Pedersen (2022), on trainers with finitely many models.

The attacker knows the trainer, its training records but one, and two candidates for that one: the
member and a record drawn anew. For a fixed member, an attack that is better than a guess has
probability zero if and only if the law of the trained model stays the same when any record of
positive probability takes the place of the member.
"""

from itertools import product

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from skmia import Records
from skmia.games import retraining_oracle
from skmia.leakage.bounds import bayes_success

VALUES = range(4)


def largest(rows):
    return {max(rows): 1.0}


def a_random_row(rows):
    law = {}
    for row in rows:
        law[row] = law.get(row, 0.0) + 1 / len(rows)
    return law


def parity_in_noise(rows):
    """The parity of the sum, told truly three times of four."""
    parity = sum(rows) % 2
    return {parity: 0.75, 1 - parity: 0.25}


def the_first(rows):
    return {rows[0]: 1.0}


def nothing(rows):
    return {0: 0.5, 1: 0.5}


TRAINERS = [largest, a_random_row, parity_in_noise, the_first, nothing]


def as_vectors(laws):
    models = sorted({model for law in laws for model in law})
    return [[law.get(model, 0.0) for model in models] for law in laws]


def probability_of_a_better_attack(trainer, rows, place, proba):
    """Over the record drawn anew: that the best attacker is right more often than a guess."""
    total = 0.0
    for other in VALUES:
        replaced = [*rows[:place], other, *rows[place + 1 :]]
        success = bayes_success(as_vectors([trainer(rows), trainer(replaced)]))
        total += proba[other] * (success > 0.5 + 1e-12)
    return total


def law_stays(trainer, rows, place, proba):
    laws = [trainer(rows)]
    laws += [
        trainer([*rows[:place], other, *rows[place + 1 :]]) for other in VALUES if proba[other] > 0
    ]
    return all(law == laws[0] for law in laws)


@pytest.mark.parametrize("proba", [[0.25] * 4, [0.5, 0.3, 0.2, 0.0], [0.0, 0.5, 0.0, 0.5]])
@pytest.mark.parametrize("trainer", TRAINERS)
def test_both_directions_over_all_data_sets(trainer, proba):
    outcomes = set()
    for rows in product([value for value in VALUES if proba[value] > 0], repeat=3):
        for place in range(3):
            risk = probability_of_a_better_attack(trainer, list(rows), place, proba)
            stays = law_stays(trainer, list(rows), place, proba)
            assert (risk == 0) == stays, (rows, place)
            outcomes.add(stays)
    expected = {
        largest: {True, False},  # a record below the largest is not learned
        a_random_row: {False},
        parity_in_noise: {False} if proba[1] < 0.5 or proba[0] > 0 else {True},
        the_first: {True, False},
        nothing: {True},
    }
    assert outcomes == expected[trainer]


def test_a_record_without_probability_is_no_risk():
    # Only 3 could take the place of the largest, and it never comes.
    assert probability_of_a_better_attack(largest, [2, 2, 0], 0, [0.5, 0.3, 0.2, 0.0]) == 0
    assert probability_of_a_better_attack(largest, [2, 2, 0], 0, [0.5, 0.2, 0.2, 0.1]) == 0.1


def test_the_best_attacker_has_the_posterior_of_the_two_laws():
    # Theorem 5.2.2 beside it: of two laws P1 and P2 the accuracy is the mean of the larger one.
    law, other = parity_in_noise([1, 0, 0]), parity_in_noise([0, 0, 0])
    assert bayes_success(as_vectors([law, other])) == 0.75


class Largest(BaseEstimator):
    """Learns the largest value, and nothing by chance."""

    def fit(self, X, y):
        self.largest_ = float(X.max())
        return self

    def predict(self, X):
        return (X[:, 0] <= self.largest_).astype(int)


@pytest.mark.parametrize(("other", "accuracy"), [(1.0, 0.5), (2.0, 0.5), (3.0, 1.0)])
def test_the_game_shows_the_same(other, accuracy):
    # Whichever member leaves, the largest stays 2, unless a larger record comes.
    X = np.array([[2.0], [2.0], [0.0], [other]])
    records, membership = Records(X, [0, 1, 0, 1]), np.array([1, 1, 1, 0])
    victim = Largest().fit(X[:3], records.y[:3])
    result = retraining_oracle(victim, records, membership, n_rounds=6, random_state=0)
    assert result.accuracy == accuracy
