"""Promises of skmia.disparity."""

import warnings

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from skmia import Records
from skmia.attacks import ThresholdAttack
from skmia.disparity import DisparityTest, GroupGuesses

from ._registry import promise

SHARES = {
    "halves": [0.5, 0.5],
    "90% and 10%": [0.9, 0.1],
    "five groups, 1% to 80%": [0.8, 0.1, 0.06, 0.03, 0.01],
}


def draw_groups(rng, shares, n_people):
    """Groups of two people at least, in random order."""
    sizes = np.maximum(2, np.round(np.array(SHARES[shares]) * n_people).astype(int))
    sizes[0] = n_people - sizes[1:].sum()
    return rng.permutation(np.repeat(np.arange(len(sizes)), sizes))


def play(rng, groups, n_rounds, noise=0.0, n_per_person=1):
    """Attack trees on two classes; some labels of group 1 are noise."""
    n_people = len(groups)
    X = rng.normal(size=(n_people, 5))
    y = X[:, 0] + 0.5 * rng.normal(size=n_people) > 0
    y ^= (groups == 1) & (rng.random(n_people) < noise)
    person = np.repeat(np.arange(n_people), n_per_person)
    X = X[person] + 0.01 * (n_per_person > 1) * rng.normal(size=(len(person), 5))
    records = Records(X, y[person].astype(int), group=groups[person], group_by=person)
    test = DisparityTest(
        DecisionTreeClassifier(),
        ThresholdAttack(signal="correctness"),
        n_rounds=n_rounds,
        n_permutations=199,
        random_state=int(rng.integers(2**31)),
    )
    return fit(test, records)


def fit(test, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # rounds without a member of a small group
        return test.fit(X)


def draw_guesses(rng, exposure, groups, n_rounds):
    """Members are flagged always, non-members with a probability of one minus their exposure."""
    inside = rng.random((n_rounds, len(exposure))) < 0.5
    guesses = inside | (rng.random(inside.shape) < 1 - exposure)
    return GroupGuesses(guesses, inside.astype(int), groups)


@promise(
    "DisparityTest rejects equal groups at .05",
    nominal=0.05,
    side="at most",
    designs={
        "trees, 1,000 records in halves at random, 20 rounds": {},
        "trees, 1,000 records in halves at random, 100 rounds": {"n_rounds": 100},
        "trees, 1,000 records, 90% and 10% at random, 20 rounds": {"shares": "90% and 10%"},
        "trees, 1,000 records, five groups of 1% to 80% at random, 20 rounds": {
            "shares": "five groups, 1% to 80%"
        },
        "trees, 100 people of 10 records in halves at random, 20 rounds": {
            "n_people": 100,
            "n_per_person": 10,
        },
    },
    n_trials=200,
)
def disparity_level(rng, n_trials, shares="halves", n_people=1000, **settings):
    settings = {"n_rounds": 20, **settings}
    found = sum(
        play(rng, draw_groups(rng, shares, n_people), **settings).reject_ for _ in range(n_trials)
    )
    return int(found), n_trials


@promise(
    "DisparityTest finds a group of which some labels are noise, at .05",
    nominal=0.9,
    designs={
        "trees, 1,000 records in halves, 15% noise, 20 rounds": {"noise": 0.15},
        "trees, 1,000 records, 90% and 10%, 30% noise, 20 rounds": {
            "noise": 0.3,
            "shares": "90% and 10%",
        },
    },
    n_trials=100,
)
def disparity_power(rng, n_trials, noise, shares="halves"):
    found = sum(
        play(rng, draw_groups(rng, shares, 1000), 20, noise=noise).reject_ for _ in range(n_trials)
    )
    return int(found), n_trials


@promise(
    "DisparityTest rejects groups of equal means and unequal variances at .05",
    nominal=0.05,
    side="at most",
    designs={
        "800 records, exposures 0 or .6 in a quarter, .3 in the others": {"size": 200},
        "800 records, exposures 0 or .6 in a tenth, .3 in the others": {"size": 80},
    },
    n_trials=1000,
)
def disparity_unequal_variances(rng, n_trials, size):
    found = 0
    groups = (np.arange(800) < size).astype(int)
    for _ in range(n_trials):
        exposure = np.where(groups == 1, 0.6 * rng.integers(2, size=800), 0.3)
        played = draw_guesses(rng, exposure, groups, 20)
        test = DisparityTest(n_permutations=199, random_state=int(rng.integers(2**31)))
        found += fit(test, played).reject_
    return int(found), n_trials


@promise(
    "DisparityTest rejects a pair of equal groups at .05, Holm",
    nominal=0.05,
    side="at most",
    designs={
        "10, 60 and 330 records, the third exposed more and alike": {"sizes": (10, 60, 330)},
        "100, 100 and 200 records, the third exposed more and alike": {"sizes": (100, 100, 200)},
    },
    n_trials=500,
)
def disparity_pairs(rng, n_trials, sizes):
    found = 0
    groups = np.repeat([0, 1, 2], sizes)
    for _ in range(n_trials):
        exposure = np.where(groups == 2, 0.9, rng.beta(0.5, 1, size=len(groups)))
        played = draw_guesses(rng, exposure, groups, 20)
        test = DisparityTest(n_permutations=199, random_state=int(rng.integers(2**31)))
        found += fit(test, played).pairwise_["reject"].iloc[0]
    return int(found), n_trials


@promise(
    "DisparityTest's interval of a difference covers that of other records",
    nominal=0.95,
    designs={
        "400 records in halves, 20 rounds": {"size": 200},
        "400 records, 90% and 10%, 20 rounds": {"size": 40},
    },
    n_trials=1000,
)
def disparity_difference(rng, n_trials, size):
    held = 0
    groups = (np.arange(400) < size).astype(int)
    for _ in range(n_trials):
        exposure = np.where(groups == 1, rng.beta(1, 1, size=400), rng.beta(1, 4, size=400))
        played = draw_guesses(rng, exposure, groups, 20)
        (pair,) = fit(DisparityTest(n_permutations=1), played).pairwise_.itertuples()
        held += pair.low <= 0.2 - 0.5 <= pair.high
    return int(held), n_trials
