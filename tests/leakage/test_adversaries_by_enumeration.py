"""Definitions of O'Dell (2023) on a learner with finitely many outcomes, all of them enumerated.

Records are (x, y) of a group x % 2, drawn from six of them with known weights; the learner answers
with the share of the label among the training records with the same x. Every training set and every
record that is asked about stands in a table as often as it is likely.
"""

from itertools import product

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import make_pipeline

from skmia import Records
from skmia.disparity import DisparityTest
from skmia.games import membership_game
from skmia.leakage import WorstCaseVulnerability, total_variation
from skmia.leakage.gaps import distributional_gap
from skmia.signals import Correctness, Loss, MaxSoftmax, Signals

WORLD = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
WEIGHTS = [1, 2, 2, 1, 1, 1]  # of eight
N = 2
SIGNALS = [Loss(), Correctness(), MaxSoftmax()]
QUICK = {"method": "plugin", "n_permutations": 0, "random_state": 0}


class Shares(ClassifierMixin, BaseEstimator):
    """Answers with the share of each label among the training records with the same x."""

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        self.n_features_in_ = 1
        self.table_ = {
            x: (1 + 2 * y[X[:, 0] == x].sum()) / (2 + 2 * (X[:, 0] == x).sum()) for x in range(3)
        }
        return self

    def predict_proba(self, X):
        ones = np.array([self.table_[int(x)] for x in X[:, 0]])
        return np.column_stack([1 - ones, ones])

    def predict(self, X):
        return (self.predict_proba(X)[:, 1] > 0.5).astype(int)


def make_records(rows):
    x, y = np.array([WORLD[row] for row in rows]).T
    return Records(x[:, None].astype(float), y, group=x % 2)


@pytest.fixture(scope="module")
def law():
    """Features, groups and multiplicities of both laws, over all training sets and records."""
    sides = {1: [], 0: []}
    for chosen in product(range(6), repeat=N):
        victim = Shares().fit(make_records(chosen).X, make_records(chosen).y)
        weight = np.prod([WEIGHTS[row] for row in chosen])
        asked = [*chosen, *range(6)]
        records = make_records(asked)
        features = Signals(victim, SIGNALS).fit(records).transform(records)
        for place, row in enumerate(asked):
            member = place < N
            # 8**3 in all on either side: a member is one of N, another record is any.
            count = weight * (8 // N if member else WEIGHTS[row])
            sides[int(member)] += [(*features[place], records["group"][place])] * int(count)
    return {side: np.array(rows).round(12) for side, rows in sides.items()}


def shares_of(law, columns):
    """Probabilities of both laws over the distinct rows of some columns."""
    sides = [law[1][:, columns], law[0][:, columns]]
    values = np.unique(np.concatenate(sides), axis=0)
    return values, *(
        np.array([(side == value).all(axis=1).mean() for value in values]) for side in sides
    )


def test_the_table_is_the_law(law):
    assert len(law[1]) == len(law[0]) == 8**3
    # A record is as likely to be of a group when it is a member.
    np.testing.assert_allclose(law[1][:, 3].mean(), 3 / 8)
    np.testing.assert_allclose(law[0][:, 3].mean(), 3 / 8)


def test_adversarial_features_are_a_map_of_the_answers_and_the_record():
    # Definition 12: without the model, its stored answers give the same features.
    records = make_records([0, 1, 2, 3, 4, 5])
    victim = Shares().fit(records.X[:3], records.y[:3])
    asked = Signals(victim, SIGNALS).fit(records).transform(records)
    stored = records.with_outputs(victim)
    read = Signals(signals=SIGNALS).fit(stored).transform(stored)
    np.testing.assert_array_equal(asked, read)
    # And records with the same answers and label have the same features, whatever else they are.
    moved = Records(records.X + 100, records.y, outputs=stored["outputs"])
    np.testing.assert_array_equal(Signals(signals=SIGNALS).fit(moved).transform(moved), read)


@pytest.mark.parametrize("columns", [[0], [1], [2], [0, 1, 2]])
def test_the_gap_of_a_property_is_the_distance_of_its_enumerated_laws(law, columns):
    # Definitions 16 and 17.
    _, p, q = shares_of(law, columns)
    sides = law[1][:, columns], law[0][:, columns]
    expected = {
        "total_variation": np.abs(p - q).sum() / 2,
        "hellinger": np.sqrt(1 - np.sqrt(p * q).sum()),
        "jensen_shannon": jensenshannon(p, q),
    }
    settings = {"method": "plugin", "n_permutations": 0, "n_resamples": 0}
    for distance, value in expected.items():
        gap = distributional_gap(*sides, distance, **settings)
        assert gap.estimate == pytest.approx(value, abs=1e-9), distance


@pytest.mark.parametrize("columns", [[0], [1], [2], [0, 1, 2]])
def test_the_bayes_adversary_reaches_the_worst_case(law, columns):
    # Definition 15 and theorem 6: of all rules that read the features none is better.
    values, p, q = shares_of(law, columns)
    X = np.concatenate([law[1][:, columns], law[0][:, columns]])
    membership = np.repeat([1, 0], 8**3)
    bayes = WorstCaseVulnerability(**QUICK).fit(X, membership)
    rules = np.array(list(product([0, 1], repeat=len(values))))
    vulnerabilities = rules @ (p - q)
    assert bayes.vulnerability_ == pytest.approx(vulnerabilities.max(), abs=1e-12)
    assert bayes.score(X, membership) == pytest.approx(vulnerabilities.max(), abs=1e-12)
    assert bayes.vulnerability_ == pytest.approx(np.abs(p - q).sum() / 2, abs=1e-12)
    assert bayes.vulnerability_ > 0.05
    # Its posterior is that of a fair coin and the two laws.
    np.testing.assert_allclose(bayes.predict_proba(values)[:, 1], p / (p + q))


def test_the_bayes_classifier_takes_the_label_of_the_highest_posterior(law):
    # Definition 14.
    X = np.concatenate([law[1][:, :3], law[0][:, :3]])
    membership = np.repeat([1, 0], 8**3)
    bayes = WorstCaseVulnerability(**QUICK).fit(X, membership)
    posterior = bayes.predict_proba(X)
    np.testing.assert_array_equal(bayes.predict(X), bayes.classes_[posterior.argmax(axis=1)])
    # For equal priors no classifier on these features errs less.
    error = np.mean(bayes.predict(X) != membership)
    _, p, q = shares_of(law, [0, 1, 2])
    assert error == pytest.approx(np.minimum(p, q).sum() / 2, abs=1e-12)


def test_an_adversary_who_knows_the_group_has_it_among_the_features(law):
    # Definition 15 with Z, and theorem 5.
    membership = np.repeat([1, 0], 8**3)
    X = np.concatenate([law[1][:, [1, 3]], law[0][:, [1, 3]]])
    aware = WorstCaseVulnerability(group_column=1, **QUICK).fit(X, membership)
    joint = WorstCaseVulnerability(**QUICK).fit(X, membership)
    blind = WorstCaseVulnerability(**QUICK).fit(X[:, :1], membership)
    assert aware.vulnerability_ == pytest.approx(joint.vulnerability_, abs=1e-12)
    assert aware.vulnerability_ == pytest.approx(total_variation(X[: 8**3], X[8**3 :]), abs=1e-12)
    assert aware.vulnerability_ >= blind.vulnerability_ - 1e-12
    weights = aware.group_vulnerability_["weight"] * aware.group_vulnerability_["vulnerability"]
    assert weights.sum() == pytest.approx(aware.vulnerability_, abs=1e-12)


class Prepared(BaseEstimator):
    """A strategy of three phases whose first one has been done."""

    def __init__(self, rule=None, victim=None):
        self.rule = rule
        self.victim = victim

    def fit(self, records):
        return self

    def predict(self, records):
        return self.rule.predict(Signals(self.victim, SIGNALS).fit_transform(records).round(12))


def test_the_three_phases_are_fit_signal_and_predict(law):
    # Algorithm 4: the attack is prepared with what is known of the learner, the number of records
    # and their law; then it reads the features of the record, and guesses from them alone.
    X = np.concatenate([law[1][:, :3], law[0][:, :3]])
    rule = WorstCaseVulnerability(**QUICK).fit(X, np.repeat([1, 0], 8**3))
    records = make_records([0, 1, 2, 3, 4, 5])
    victim = Shares().fit(records.X[:2], records.y[:2])
    attack = make_pipeline(Signals(victim, SIGNALS), WorstCaseVulnerability(**QUICK))
    attack.fit(records, [1, 1, 0, 0, 0, 0])
    features = attack[0].transform(records)
    np.testing.assert_array_equal(attack.predict(records), attack[-1].predict(features))
    # In the experiment, played with every training set and every record, the prepared strategy
    # gains the worst case.
    gained = 0.0
    for chosen in product(range(6), repeat=N):
        members = make_records(chosen)
        prepared = Prepared(rule, Shares().fit(members.X, members.y))
        hits, alarms = prepared.predict(members), prepared.predict(records)
        likely = np.prod([WEIGHTS[row] / 8 for row in chosen])
        gained += likely * (hits.mean() - alarms @ np.array(WEIGHTS) / 8)
    assert gained == pytest.approx(rule.vulnerability_, abs=1e-12)


class Rememberer(ClassifierMixin, BaseEstimator):
    """Is right about its training records, and about no others of the group 1."""

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        self.trained_ = X[:, 0]
        return self

    def predict(self, X):
        right = np.isin(X[:, 0], self.trained_) | (X[:, 0] % 2 == 0) | (X[:, 0] % 4 == 1)
        return np.where(right, X[:, 1], 1 - X[:, 1]).astype(int)


def test_disparity_is_the_difference_of_two_vulnerabilities_for_one_attack():
    # Definition 20: "member if right" gains 0 in the group 0 and one half in the group 1, on whose
    # other records the model is wrong every second time.
    n = 240
    y = np.random.default_rng(0).integers(2, size=n)
    records = Records(np.column_stack([np.arange(n), y]).astype(float), y, group=np.arange(n) % 2)

    class Right(BaseEstimator):
        def __init__(self, victim=None):
            self.victim = victim

        def fit(self, records, membership=None):
            return self

        def predict(self, records):
            return (self.victim.predict(records.X) == records.y).astype(int)

    test = DisparityTest(Rememberer(), Right(), n_rounds=12, n_permutations=19, random_state=0)
    test.fit(records)
    means = test.group_vulnerability_["mean"]
    assert test.disparity_ == pytest.approx(means[1] - means[0], abs=1e-12)
    assert test.pairwise_["difference"].tolist() == pytest.approx([-test.disparity_])
    # On average over the rounds, too, where the share of wrong answers varies with the split.
    rounds = test.vulnerabilities_
    error = rounds[1].std() / np.sqrt(12)
    assert (rounds[0] == 0).all() and means[0] == pytest.approx(0, abs=1e-12)
    assert rounds[1].mean() == pytest.approx(0.5, abs=4 * error)
    assert test.disparity_ == pytest.approx(0.5, abs=4 * error)
    # The same numbers as those of the game.
    game = membership_game(
        Rememberer(), Right(), records, groups="group", n_rounds=12, random_state=0
    )
    assert game["group_vulnerability"].mean().diff().iloc[-1] == pytest.approx(0.5, abs=4 * error)
