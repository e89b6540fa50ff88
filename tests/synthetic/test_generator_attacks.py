"""Attacks on generators that copy, and on generators that do not."""

import numpy as np
import pandas as pd
import pytest
from refusals import check_refusal, parametrize_refusals
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity

from skmia import Records, ShadowPool
from skmia.attacks import CalibratedAttack, LiRA
from skmia.synthetic import GeneratorAttack, SyntheticDistance
from skmia.synthetic._generator_attack import score_by_each
from skmia.synthetic._table._measure import ATTACKS
from skmia.testing import check_attack

STATISTICS = "distance", "ratio", "density_ratio"


@pytest.fixture(scope="module")
def problem():
    X = np.random.default_rng(0).normal(size=(400, 3))
    membership = np.arange(400) % 2
    return Records(X, np.zeros(400)), membership


class Fixed(BaseEstimator):
    """Gives out given rows."""

    def __init__(self, rows=None):
        self.rows = rows

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def sample(self, n_samples):
        return np.asarray(self.rows)[:n_samples], None


class FixedFrame(Fixed):
    """Gives out given rows of a DataFrame."""

    def sample(self, n_samples):
        return self.rows.iloc[:n_samples]


def fixed_frame(rows):
    return FrozenEstimator(FixedFrame(rows).fit(None))


def fixed(rows):
    return FrozenEstimator(Fixed(rows).fit(None))


@pytest.mark.parametrize("metric", ["euclidean", "gower"])
@pytest.mark.parametrize("statistic", [*STATISTICS, "distance_difference", "domias"])
def test_columns_of_dataframes_are_compared_by_name(statistic, metric):
    rng = np.random.default_rng(3)
    drawn = (pd.DataFrame(rng.normal(size=(12, 2)) * [1, 9], columns=["a", "b"]) for _ in range(3))
    rows, made, known = drawn
    scores = []
    for columns in (["a", "b"], ["b", "a"]):
        other = [Records(table[columns], np.zeros(12)) for table in (made, known)]
        attack = GeneratorAttack(
            other[0], statistic=statistic, metric=metric, reference=other[1], random_state=0
        )
        records = Records(rows, np.zeros(12))
        scores.append(attack.fit(records).score_samples(records))
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-9)


@pytest.mark.parametrize("metric", ["euclidean", "gower"])
def test_rows_of_a_generator_with_columns_in_another_order_are_compared_by_name(metric):
    table = pd.DataFrame(np.random.default_rng(4).normal(size=(9, 2)) * [1, 9], columns=["a", "b"])
    found = SyntheticDistance(FixedFrame(table[["b", "a"]]), metric=metric).fit(table)
    assert found.predict(table).tolist() == [0.0] * 9
    assert found.predict(table + 1).min() > 0


def test_a_record_is_itself_whatever_its_label_and_the_type_of_its_numbers():
    rng = np.random.default_rng(5)
    X = rng.integers(0, 40, size=(30, 2)).astype(float)
    attack = GeneratorAttack(Records(X[:9] + 0.5), random_state=0).fit(Records(X, np.zeros(30)))
    expected = attack.score_samples(Records(X, np.zeros(30)))
    for other in (X, X.astype(int), X.astype(np.float32), pd.DataFrame(X).astype(object)):
        found = attack.score_samples(Records(other, np.arange(30) % 3))
        np.testing.assert_array_equal(found, expected)


def test_scores_by_hand():
    X = np.array([[0.0], [1.0], [4.0], [10.0]])
    records = Records(X, np.zeros(4))
    victim = fixed([[0.5], [3.0], [3.0], [12.0]])
    distance = GeneratorAttack(victim, statistic="distance").fit(records)
    np.testing.assert_allclose(distance.score_samples(records), [-0.5, -0.5, -1, -2])
    assert distance.offset_ == -1
    ratio = GeneratorAttack(victim, statistic="ratio").fit(records)
    np.testing.assert_allclose(ratio.score_samples(records), [-0.5 / 3, -0.25, -1, -2 / 7])
    density = GeneratorAttack(victim, n_neighbors=1).fit(records)
    # Nearest other record over nearest synthetic row; three other records, four rows.
    expected = np.log(np.array([1, 1, 3, 6]) / [0.5, 0.5, 1, 2] * 3 / 4)
    np.testing.assert_allclose(density.score_samples(records), expected)
    # A record that was not given to fit has four others.
    new = Records([[5.0]], [0])
    np.testing.assert_allclose(density.score_samples(new), np.log(1 / 2 * 4 / 4))
    assert density.offset_ == 0


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_generator_that_copies_is_caught_and_one_that_does_not_is_not(problem, statistic):
    records, membership = problem
    members = records.X[membership == 1]
    for generator, caught in (
        (KernelDensity(bandwidth=0.02).fit(members), True),
        (GaussianMixture(random_state=0).fit(members), False),
    ):
        attack = GeneratorAttack(FrozenEstimator(generator), statistic=statistic, random_state=0)
        advantage = attack.fit(records).score(records, membership)
        error = np.sqrt(1 / 200)  # at most, of a difference of two rates of 200 records each
        assert (advantage > 3 * error) == caught and advantage > -3 * error


@pytest.mark.parametrize("attack", [LiRA, CalibratedAttack])
def test_shadow_generators(problem, attack):
    records, membership = problem
    model = SyntheticDistance(KernelDensity(bandwidth=0.1))
    victim = FrozenEstimator(model.fit(records.X[membership == 1]))
    pool = FrozenEstimator(ShadowPool(model, 16, random_state=0).fit(records))
    scores = attack(victim, pool).fit(records).score_samples(records)
    # Draws with replacement give out 63% of the members; of the others nothing can be told.
    error = np.sqrt(401 / 12 / 200**2)  # of the area, for scores that tell nothing
    # The share of members that are drawn has a standard deviation of 0.022, and counts half.
    largest = 0.632 + 0.368 / 2 + 4 * np.hypot(error, 0.022 / 2)
    assert 0.5 + 3 * error < roc_auc_score(membership, scores) < largest


@pytest.mark.parametrize(
    ("statistic", "k", "expected"),
    [
        ("domias", 1, [0.1266, 1.4338, -1.9979, -34]),
        ("gen_lra", 1, [0.2875, 1.1409, 0, -0.4055]),
        ("gen_lra", 2, [0.2875, 0.8624, -0.4051, -0.8109]),
        # Half of the reference rows are 0 from a synthetic row and half are 1: 2% of 0.5 is added.
        ("distance_difference", 1, [0, np.log(101), -np.log(101), np.log(8.01 / 9.01)]),
        ("rare_copies", 1, [0, 1, 0, 0]),
        # Half of the reference rows have a synthetic row within 0.5.
        ("neighborhood", 1, [0, 0.5, -0.5, 0]),
    ],
)
def test_known_answers_with_a_reference(statistic, k, expected):
    attack = GeneratorAttack(
        fixed([[0.0], [1.0]]),
        statistic=statistic,
        n_neighbors=k,
        bandwidth=0.5,
        reference=Records([[0.0], [2.0]]),
    )
    records = Records([[0.0], [1], [2], [10]], np.zeros(4))
    scores = attack.fit(records[:2]).score_samples(records)
    np.testing.assert_allclose(scores, expected, atol=6e-5)
    far = attack.score_samples(Records([[100.0]], [0]))
    assert np.isfinite(far).all()
    if statistic == "domias":
        assert far == pytest.approx(-394, abs=0.5)
    if statistic in ("rare_copies", "neighborhood"):  # which find nothing there
        assert attack.predict(records).tolist() == [0, 1, 0, 0]
    with pytest.raises(ValueError, match="records has 2 columns and The table of synthetic rows"):
        attack.fit(Records([[0.0, 1], [1, 1]], np.zeros(2)))


def test_the_closed_form_of_gen_lra_is_a_refit():
    rng = np.random.default_rng(4)
    made, known, X = rng.normal(size=(3, 30, 2))
    attack = GeneratorAttack(
        fixed(made), statistic="gen_lra", n_neighbors=5, bandwidth=0.4, reference=Records(known)
    ).fit(Records(X, np.zeros(30)))
    expected = []
    for x in X:
        nearest = made[np.argsort(np.linalg.norm(made - x, axis=1))[:5]]
        before, after = (
            KernelDensity(bandwidth=0.4).fit(rows).score_samples(nearest).sum()
            for rows in (known, np.vstack([known, x]))
        )
        expected.append(after - before)
    np.testing.assert_allclose(attack.score_samples(Records(X, np.zeros(30))), expected)


WITH_REFERENCE = (
    "distance_difference",
    "neighborhood",
    "domias",
    "gen_lra",
    "copula",
    "classifier",
)


@pytest.mark.parametrize("statistic", WITH_REFERENCE)
def test_copies_are_found_with_a_reference(problem, statistic):
    records, membership = problem
    known, fresh = np.random.default_rng(9).normal(size=(2, 200, 3))
    for made, caught in ((records.X[membership == 1], True), (fresh, False)):
        attack = GeneratorAttack(
            fixed(made),
            statistic=statistic,
            reference=Records(known),
            n_samples=200,
            random_state=0,
        )
        scores = attack.fit(records).score_samples(records)
        assert np.isfinite(scores).all()
        np.testing.assert_allclose(attack.score_samples(records[[1, 0]]), scores[[1, 0]])
        area, error = roc_auc_score(membership, scores), np.sqrt(401 / 12 / 200**2)
        assert (area > 0.5 + 2 * error) == caught and area > 0.5 - 3 * error


def test_a_single_copy_is_found_among_more_synthetic_rows_than_reference_rows(problem):
    """None is left out to make the tables equal in size; the threshold allows for the sizes."""
    records, membership = problem
    rng = np.random.default_rng(9)
    known, fresh = rng.normal(size=(100, 3)), rng.normal(size=(400, 3))
    copied = np.flatnonzero(membership)[:20]
    attack = GeneratorAttack(
        Records(np.vstack([fresh, records.X[copied]])),
        statistic="distance_difference",
        reference=Records(known),
        random_state=0,
    ).fit(records)
    scores = attack.score_samples(records)
    others = np.setdiff1d(np.arange(len(scores)), copied)
    assert (scores[copied] > 0).all() and np.mean(scores[copied]) > np.quantile(scores[others], 0.8)
    assert attack.offset_ > 0.05
    assert np.mean(scores[others] > attack.offset_) == pytest.approx(0.5, abs=0.1)
    again = clone(attack).fit(records)
    assert again.offset_ == attack.offset_


def test_rare_copies_of_a_mixed_table():
    rng = np.random.default_rng(10)
    table = pd.DataFrame({"age": rng.normal(size=300), "work": rng.choice(list("ab"), 300)})
    train, made, known = table[:100], table[60:160].copy(), table[200:]
    made["age"] = np.where(np.arange(100) < 40, made["age"], rng.normal(size=100))
    attack = GeneratorAttack(
        fixed_frame(made), statistic="rare_copies", metric="gower", reference=Records(known)
    ).fit(Records(train, np.zeros(100)))
    scores = attack.score_samples(Records(train, np.zeros(100)))
    np.testing.assert_array_equal(scores > 0, np.arange(100) >= 60)
    np.testing.assert_array_equal(attack.predict(Records(train, np.zeros(100))), scores > 0)
    with pytest.raises(ValueError, match="'copula' needs columns of numbers"):
        attack.set_params(statistic="copula").fit(Records(train, np.zeros(100)))


def test_released_rows_need_no_generator(problem):
    records, membership = problem
    made = records.X[membership == 1]
    scores = [
        GeneratorAttack(victim, n_samples=n).fit(records).score_samples(records)
        for victim, n in ((Records(made), None), (fixed(made), 200), (Records(made), 150))
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])


def test_ties_of_distances_are_broken_by_rarity():
    records = Records([[0.0], [5], [9]], np.zeros(3))
    attack = GeneratorAttack(
        fixed([[0.0], [5.0], [8.0]]), statistic="distance", reference=Records([[0.1], [0.2], [9.0]])
    )
    scores = attack.fit(records).score_samples(records)
    assert scores[1] > scores[0] > scores[2]
    np.testing.assert_allclose(scores, [0, 0, -1], atol=1e-7)


def test_the_need_of_a_reference_is_declared(problem):
    records, _ = problem
    for statistic in (*WITH_REFERENCE, "rare_copies"):
        attack = GeneratorAttack(fixed([[1.0]] * 9), statistic=statistic)
        assert attack.needs().lacks == ("reference",)
        assert not attack.set_params(reference=Records([[0.0]])).needs().lacks
    assert not GeneratorAttack().needs().lacks
    with pytest.raises(ValueError, match="statistic='domias' needs reference"):
        GeneratorAttack(fixed([[1.0]] * 9), statistic="domias").fit(records)


def test_seeds(problem):
    records, _ = problem
    generator = FrozenEstimator(KernelDensity().fit(records.X))
    scores = [
        GeneratorAttack(generator, random_state=seed).fit(records).score_samples(records)
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])


class _PlainGenerator:
    """A synthesizer of another package, which is no estimator of scikit-learn."""

    def __init__(self, rows):
        self.rows = rows

    def fit(self, rows):
        return self

    def sample(self, num_rows):
        return self.rows[:num_rows]


def test_a_generator_needs_a_method_sample_alone(problem):
    records, membership = problem
    rows = records.X[membership == 1]
    scores = [
        GeneratorAttack(generator, random_state=0).fit(records).score_samples(records)
        for generator in (_PlainGenerator(rows), fixed(rows))
    ]
    np.testing.assert_array_equal(*scores)


@parametrize_refusals(
    (
        lambda records, _: GeneratorAttack(_PlainGenerator).fit(records),
        "generator _PlainGenerator is a class, not an instance",
        TypeError,
    ),
    (
        lambda records, _: SyntheticDistance(_PlainGenerator(records.X)).fit(records.X),
        "generator must be a scikit-learn estimator, .* Derive its class from sklearn.base.BaseEs",
        TypeError,
    ),
    (lambda records, _: GeneratorAttack().fit(records), "sample method; got NoneType", TypeError),
    (
        lambda records, _: GeneratorAttack(FrozenEstimator(KernelDensity())).fit(records),
        "generator KernelDensity is not fitted: fit it",
        NotFittedError,
    ),
    (
        lambda records, _: (
            GeneratorAttack(fixed([[1.0]] * 9), statistic="ratio")
            .fit(records)
            .score_samples(records)
        ),
        "synthetic rows has 1 columns and The table of records",
    ),
    (
        lambda records, _: GeneratorAttack(fixed([[1.0]] * 9)).fit(records[:3]),
        "n_neighbors=3 needs that many",
    ),
)
def test_bad_victims(call, words, error, problem):
    check_refusal(call, words, error, *problem)


ATTACKED = Records(np.random.default_rng(1).normal(size=(60, 3)), np.arange(60) % 2)
MEMBERSHIP = np.arange(60) // 2 % 2
GENERATOR = FrozenEstimator(KernelDensity(bandwidth=0.1).fit(ATTACKED.X[MEMBERSHIP == 1]))


NOT_ASKED = {
    "check_attack_certain_victim": "the victim of this check is a classifier",
}


@pytest.mark.parametrize(
    "attack",
    [
        *(
            pytest.param(
                GeneratorAttack(GENERATOR, statistic=one, random_state=0),
                marks=[] if one == "density_ratio" else pytest.mark.slow,
            )
            for one in STATISTICS
        ),
        GeneratorAttack(
            GENERATOR, statistic="domias", reference=Records(ATTACKED.X[::2] + 0.01), random_state=0
        ),
    ],
    ids=lambda attack: attack.statistic,
)
def test_attack_checks(attack):
    check_attack(attack, ATTACKED, MEMBERSHIP, expected_failed_checks=NOT_ASKED)


@pytest.mark.usefixtures("quick_tables")
def test_several_statistics_in_one_encoding_give_the_scores_of_attacks_one_by_one():
    rng = np.random.default_rng(0)
    made, known, rows = (
        pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(list("xyz"), n)})
        for n in (30, 25, 20)
    )
    records, statistics = Records(rows, np.zeros(20)), ATTACKS.values()
    for name, scores in zip(
        statistics, score_by_each(statistics, made, known, rows, 3), strict=True
    ):
        attack = GeneratorAttack(
            Records(made), statistic=name, reference=Records(known), metric="gower", random_state=3
        )
        np.testing.assert_array_equal(attack.fit(records).score_samples(records), scores)
