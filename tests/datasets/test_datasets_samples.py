"""The made problems have the amount of memorization that was asked for."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from skmia import Records
from skmia.datasets import make_membership_problem

KINDS = ("baskets", "mixture", "regression")


def scores(model, records, membership):
    members, others = records[membership == 1], records[membership == 0]
    model.fit(members.X, members.y)
    return model.score(members.X, members.y), model.score(others.X, others.y)


@pytest.mark.contract
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_random_state_gives_the_same_problem(kind):
    first, second, other = (
        make_membership_problem(200, kind=kind, n_classes=3, random_state=seed)
        for seed in (3, 3, 4)
    )
    assert_array_equal(first[0].fingerprint, second[0].fingerprint)
    assert_array_equal(first[1], second[1])
    assert not np.array_equal(first[0].X, other[0].X)


@pytest.mark.parametrize("kind", KINDS)
def test_the_global_generator_is_left_alone(kind):
    before = np.random.get_state()  # noqa: NPY002
    make_membership_problem(100, kind=kind, random_state=1)
    after = np.random.get_state()  # noqa: NPY002
    assert_array_equal(before[1], after[1])
    assert before[2:] == after[2:]


@pytest.mark.contract
@pytest.mark.parametrize("kind", KINDS)
def test_the_records_are_what_scikit_learn_and_torch_take(kind):
    records, membership = make_membership_problem(120, n_features=7, kind=kind, random_state=0)
    assert isinstance(records, Records) and records.X.shape == (120, 7)
    assert records.X.dtype == np.float32
    assert records.y.dtype == (np.float32 if kind == "regression" else np.intp)
    assert membership.dtype == np.intp and set(membership) == {0, 1}


@pytest.mark.parametrize("fraction", [0.1, 0.25, 0.5, 0.8])
def test_each_class_gives_its_share_of_members(fraction):
    records, membership = make_membership_problem(
        999, n_classes=7, member_fraction=fraction, random_state=0
    )
    assert membership.sum() == round(999 * fraction)
    for label in range(7):
        mine = records.y == label
        assert abs(membership[mine].sum() - fraction * mine.sum()) <= 1


def test_small_classes_give_their_share_to_within_one_record():
    lonely = 0
    for seed in range(20):
        records, membership = make_membership_problem(60, n_classes=20, random_state=seed)
        size, members = (np.bincount(records.y, one, 20) for one in (None, membership))
        assert np.abs(members - size / 2).max() <= 1
        lonely += np.sum((size == 2) & (members != 1))
    assert lonely > 0  # both of two records are on one side


def test_membership_is_random_within_a_class():
    drawn = np.mean(
        [make_membership_problem(20, kind="regression", random_state=s)[1] for s in range(400)],
        axis=0,
    )
    # Four standard errors of a share of 1/2 in 400 draws.
    assert np.abs(drawn - 0.5).max() < 4 * 0.5 / 20


@pytest.mark.parametrize(("n_classes", "memorization"), [(2, 0.6), (5, 1.0)])
def test_a_share_of_the_labels_cannot_be_learned(n_classes, memorization):
    records, membership = make_membership_problem(
        4000, n_classes=n_classes, memorization=memorization, random_state=0
    )
    best = 1 - memorization * (1 - 1 / n_classes)
    _, accuracy = scores(KNeighborsClassifier(101), records, membership)
    # The clusters are far apart, so the best is nearly reached: three standard errors and .01.
    assert abs(accuracy - best) < 3 * np.sqrt(0.25 / 2000) + 0.01


@pytest.mark.parametrize("memorization", [0.0, 0.3, 1.0])
def test_a_share_of_the_variance_cannot_be_learned(memorization):
    records, membership = make_membership_problem(
        8000, n_features=5, kind="regression", memorization=memorization, random_state=0
    )
    assert abs(np.var(records.y) - 1) < 0.07
    _, r2 = scores(LinearRegression(), records, membership)
    assert abs(r2 - (1 - memorization)) < 0.04


def test_more_memorization_means_a_wider_gap():
    gaps = []
    for memorization in (0.0, 0.3, 0.6, 1.0):
        problem = make_membership_problem(2000, memorization=memorization, random_state=0)
        train, test = scores(DecisionTreeClassifier(random_state=0), *problem)
        assert train == 1
        gaps.append(train - test)
    assert gaps[0] < 0.1 and gaps[-1] > 0.45
    assert np.all(np.diff(gaps) > 0.05)


@pytest.mark.parametrize("memorization", [0.0, 0.6, 1.0])
def test_baskets_keep_the_popularity_of_items(memorization):
    records, _ = make_membership_problem(
        3000,
        n_features=200,
        n_classes=20,
        kind="baskets",
        memorization=memorization,
        random_state=0,
    )
    assert set(np.unique(records.X)) <= {0, 1}
    # The mean of Beta(1, 4) is 1/5; its standard deviation .16 over 200 items gives .012.
    assert abs(records.X.mean() - 0.2) < 0.04
    assert_array_equal(np.unique(records.y), np.arange(20))


def test_a_net_that_knows_its_members_by_heart_generalizes_less():
    problem = make_membership_problem(
        1000, n_features=200, n_classes=20, kind="baskets", random_state=0
    )
    net = MLPClassifier(64, batch_size=50, learning_rate_init=0.01, tol=0.01, random_state=0)
    train, test = scores(net, *problem)
    assert train > 0.99 and 0.5 < test < 0.9


def test_a_learnable_regression_problem_is_without_noise():
    records, _ = make_membership_problem(50, kind="regression", memorization=0, random_state=0)
    model = LinearRegression().fit(records.X, records.y)
    np.testing.assert_allclose(model.predict(records.X), records.y, atol=1e-5)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_samples": 1}, "'n_samples'"),
        ({"n_features": 0}, "'n_features'"),
        ({"n_classes": 1}, "'n_classes'"),
        ({"kind": "shopping"}, "'kind'.*shopping"),
        ({"memorization": 1.1}, "'memorization'.*Got 1.1"),
        ({"memorization": float("nan")}, "'memorization'"),
        ({"member_fraction": 1.0}, "'member_fraction'"),
        ({"random_state": "now"}, "'random_state'"),
        ({"n_samples": 10, "member_fraction": 0.01}, "without a member"),
        ({"n_samples": 10, "n_classes": 11, "kind": "baskets"}, "10 rows .* 11 classes"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        make_membership_problem(**parameters)


def test_two_records_are_enough():
    for kind in KINDS:
        records, membership = make_membership_problem(2, kind=kind, random_state=0)
        assert len(records) == 2 and membership.sum() == 1
