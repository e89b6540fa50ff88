"""What models do to similar records, as a feature of the stack."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import StackedAttack, _stacked
from skmia.attacks._stacked import SimilarRecords

# Symmetric, so that both coordinates have the same scale.
ANGLES = np.deg2rad([0, 10, 20, 70, 80, 90])


@pytest.fixture
def known():
    """Two clusters of directions in class 0 and their opposites in class 1."""
    X = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
    return Records(np.concatenate([X, -X]), np.repeat([0, 1], 6))


def test_means_are_over_the_nearest_records_of_the_class(known, monkeypatch):
    monkeypatch.setattr(_stacked, "_N_NEIGHBORS", 2)
    monkeypatch.setattr(_stacked, "_LEAST_WEIGHT", 0.0)
    means = SimilarRecords(known).average(known, np.arange(12.0)[None])[0]
    # Weights are cosines minus that of the third record from the first one.
    weights = np.cos(ANGLES[1:3]) - np.cos(ANGLES[3])
    assert means[0] == pytest.approx(weights @ [1, 2] / weights.sum())
    assert 0 < means[1] < 2 < 3 < means[4] < 5
    assert np.allclose(means[6:], means[:6] + 6)


def test_blocks_and_order_do_not_matter(known, monkeypatch):
    values = np.random.default_rng(0).normal(size=(3, 12))
    similar, order = SimilarRecords(known), np.random.default_rng(1).permutation(12)
    whole = similar.average(known, values)
    assert np.allclose(similar.average(known[order], values), whole[:, order])
    for name in ("_BLOCK", "_MOST_CELLS"):
        monkeypatch.setattr(_stacked, name, 8)
        assert np.allclose(similar.average(known, values), whole)


def test_unlike_records_have_a_mean_of_zero(known):
    values = np.ones((1, 12))
    others = Records([[1.0, 0.0]], [2])
    assert SimilarRecords(known).average(others, values) == 0
    alike = Records(np.ones((5, 2)), np.zeros(5, int))
    assert np.array_equal(SimilarRecords(alike).average(alike, np.ones((1, 5))), np.zeros((1, 5)))


@pytest.mark.parametrize(
    "convert",
    [
        sparse.csr_array,
        lambda X: np.where(X == X[3, 1], np.nan, X),
        lambda X: np.column_stack([X, np.full(len(X), np.nan)]),
        lambda X: pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "up", "down")}),
        lambda X: X.reshape(-1, 1, 2),
        lambda X: pd.DataFrame(X, columns=["a", "b"]).astype({"a": str}),
    ],
)
def test_features_of_any_kind(known, convert):
    records = Records(convert(np.asarray(known.X)), known.y)
    means = SimilarRecords(records).average(records, np.random.default_rng(0).normal(size=(2, 12)))
    assert np.isfinite(means).all() and means.any()


def test_few_records_are_searched_where_each_is_large(known, monkeypatch):
    monkeypatch.setattr(_stacked, "_MOST_CELLS", 6)
    usable = np.arange(12) % 2 == 0
    few = _stacked._draw(known, usable)
    assert len(few) == 3 and np.isin(few.fingerprint, known.fingerprint[usable]).all()
    again = _stacked._draw(known[::-1], usable[::-1])
    assert np.array_equal(again.fingerprint, few.fingerprint[::-1])


@pytest.fixture(scope="module")
def clusters():
    """Models that move all records of a cluster together, by more than one training record."""
    rng = np.random.default_rng(0)
    n_clusters, size, n_models = 100, 10, 8
    cluster = np.repeat(np.arange(n_clusters), size)
    X = rng.normal(size=(n_clusters, 20))[cluster] + 0.1 * rng.normal(size=(len(cluster), 20))
    inside = rng.random((n_models, len(cluster))) < 0.5
    inside[1::2] = ~inside[::2]
    membership = rng.permutation(np.arange(len(cluster)) % 2).astype(bool)
    center = rng.normal(size=len(cluster))
    target, *shadows = (
        center
        + members
        + 2 * rng.normal(size=n_clusters)[cluster]
        + 0.5 * rng.normal(size=len(cluster))
        for members in (membership, *inside)
    )
    answers = Outputs(np.column_stack([np.zeros(len(target)), target]), [0, 1], "logits")
    records = Records(X, np.ones(len(cluster), int), outputs=answers)
    return records, membership, FrozenEstimator(ShadowPool.from_scores(shadows, inside, records))


def test_stack_knows_what_moves_similar_records(clusters):
    records, membership, pool = clusters
    bare = Records(records.X, records.y)
    aucs = []
    for given in (records, bare):
        attack = StackedAttack(shadows=pool, boosted=False).fit(given)
        assert ("similar_records" in attack.feature_names_) == (given is records)
        aucs.append(roc_auc_score(membership, attack.score_samples(records)))
    # A gap of 1 and a variance of 4.25 give an AUC of 0.63, a variance of 0.25 of 0.92.
    assert aucs[0] > 0.75 and aucs[1] < 0.7


def test_record_scores_alike_alone_and_without_having_been_fitted(clusters):
    records, membership, pool = clusters
    attack = StackedAttack(shadows=pool, boosted=False).fit(records)
    whole = attack.score_samples(records)
    assert np.allclose(attack.score_samples(records[7:9]), whole[7:9])
    part = StackedAttack(shadows=pool, boosted=False).fit(records[::2])
    others = slice(1, None, 2)
    auc = roc_auc_score(membership[others], part.score_samples(records[others]))
    assert auc > 0.65
