"""A fitted pool finds its records again, in any order and in part."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import LiRA
from skmia.shadow import _answers


@pytest.fixture(scope="module")
def known():
    """Records, two of which are equal, with evidence that names its model and its column."""
    x = np.arange(30)
    x[17] = 4
    records = Records(x[:, None], np.ones(30, dtype=int))
    rng = np.random.default_rng(0)
    inside = rng.random((6, 30)) < 0.5
    scores = 100.0 * np.arange(6)[:, None] + np.arange(30)
    pool = ShadowPool.from_scores(scores, inside, records)
    return records, pool


ORDERS = {
    "as they are": np.arange(30),
    "a slice": np.arange(5, 12),
    "reversed": np.arange(30)[::-1],
    "shuffled": np.random.default_rng(1).permutation(30),
    "repeated": np.array([3, 17, 3, 4, 29, 0, 0]),
    "one": np.array([8]),
}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("size", [1, 4, 100])
def test_blocks_hold_each_record_once(known, order, size):
    records, pool = known
    columns = np.where(order == 17, 4, order)
    evidence, n_inside = np.full((6, len(order)), np.nan), np.full(len(order), -1)
    inside, n_seen = np.zeros((6, len(order)), dtype=bool), np.zeros(len(order), dtype=int)
    for rows, values, members, n_members in pool.blocks(records[order], size):
        assert values.shape[2] <= size
        evidence[:, rows], inside[:, rows], n_inside[rows] = values[0], members, n_members
        n_seen[rows] += 1
    assert (n_seen == 1).all()
    np.testing.assert_array_equal(evidence, pool.signals_[0, 0][:, columns])
    np.testing.assert_array_equal(inside, pool.membership_[:, columns])
    np.testing.assert_array_equal(n_inside, pool.membership_[:, columns].sum(axis=0))


def test_blocks_go_through_a_file_from_left_to_right(known):
    records, pool = known
    blocks = pool.blocks(records[ORDERS["shuffled"]], 4)
    columns = np.concatenate([evidence[0, 0] for _, evidence, _, _ in blocks])
    assert (np.diff(columns) >= 0).all()


def test_records_in_the_order_of_the_pool_are_not_copied(known):
    records, pool = known
    # Record 17 is read where its equal stands, so that only the first ones are in unbroken order.
    for _, evidence, inside, _ in pool.blocks(records[:16], 5):
        assert np.shares_memory(evidence, pool.signals_)
        assert np.shares_memory(inside, pool.membership_)


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_records_are_located(known, order):
    records, pool = known
    expected = np.where(order == 17, 4, order)
    np.testing.assert_array_equal(pool.locate(records[order]), expected)
    fresh = Records(records.X[order], records.y[order])
    np.testing.assert_array_equal(pool.locate(fresh), expected)


def test_records_that_the_pool_does_not_hold_have_no_column(known):
    _, pool = known
    others = Records(np.array([[3], [99], [-1], [29]]), np.ones(4, dtype=int))
    assert pool.locate(others).tolist() == [3, -1, -1, 29]
    # As many records as the pool has, so that their number does not tell.
    assert (pool.locate(Records(np.arange(100, 130)[:, None], np.ones(30, int))) == -1).all()


def test_models_that_were_kept_are_asked_about_new_records_in_any_order():
    rng = np.random.default_rng(0)
    records = Records(rng.normal(size=(60, 3)), rng.integers(2, size=60))
    pool = ShadowPool(DecisionTreeClassifier(max_depth=3), 4, store="models", random_state=0)
    pool.fit(records[:40])
    order = rng.permutation(60)
    expected = pool.values(records)
    evidence, n_inside = np.empty_like(expected), np.empty(60)
    for rows, values, inside, n_members in pool.blocks(records[order], 7):
        evidence[:, :, rows], n_inside[rows] = values, n_members
        np.testing.assert_array_equal(inside.sum(axis=0), n_members)
    np.testing.assert_allclose(evidence, expected[:, :, order], rtol=1e-5)
    assert (n_inside[order >= 40] == 0).all()
    assert (n_inside[order < 40] == 2).all()


def test_memory_mapped_evidence_gives_plain_arrays(known, tmp_path):
    records, pool = known
    np.save(tmp_path / "signals.npy", pool.signals_)
    signals = np.load(tmp_path / "signals.npy", mmap_mode="r")
    mapped = replace(pool.to_answers(), signals=signals)
    for order in ORDERS.values():
        for _, evidence, _, _ in mapped.blocks(records[order], 4):
            assert type(evidence) is np.ndarray
        np.testing.assert_array_equal(mapped.values(records[order]), pool.values(records[order]))


def test_a_pool_of_the_first_models_counts_those(known):
    records, pool = known
    smaller = pool.first(4)
    for rows, _, inside, n_inside in smaller.blocks(records, 100):
        columns = pool.locate(records)[rows]
        np.testing.assert_array_equal(inside, pool.membership_[:4][:, columns])
        np.testing.assert_array_equal(inside.sum(axis=0), n_inside)


def test_records_of_another_type_are_other_records(known):
    records, pool = known
    for X in (records.X.astype(np.int32), records.X.astype(float)):
        other = Records(X, records.y)
        np.testing.assert_array_equal(pool.locate(other), -1)
        types = rf"they hold {X.dtype} x 1, labels int64, but the pool holds int64 x 1, labels"
        with pytest.raises(ValueError, match=types):
            pool.transform(other)


def test_a_record_of_which_only_half_the_hash_agrees_is_unknown(known):
    records, pool = known
    digests = records.digests.copy()
    digests[1, 3] ^= 1
    forged = Records._from_checked((records.X, None), records.y, {}, digests)
    for order in (slice(None), slice(None, None, -1)):
        columns = pool.locate(forged[order])
        assert (columns == -1).sum() == 1
        assert columns[np.arange(30)[order] == 3] == -1


@pytest.mark.parametrize("n_copies", [0, 30])
def test_a_draw_sorts_the_hashes_that_it_takes(monkeypatch, n_copies):
    x = np.arange(300)
    x[::10] = np.r_[np.full(n_copies, 5), x[::10][n_copies:]]
    records = Records(x[:, None], np.ones(300, dtype=int))
    pool = ShadowPool.from_scores(np.zeros((2, 300)), np.eye(2, 300, dtype=bool), records)
    hashes, usable = pool.to_answers().columns.digests[0], np.arange(300) % 3 > 0
    some = np.flatnonzero(usable)
    expected = some[np.unique(hashes[some], return_index=True)[1]]
    seen, unique = [], np.unique
    monkeypatch.setattr(np, "unique", lambda x, **how: seen.append(len(x)) or unique(x, **how))
    for n in (1, 40, 1000):
        np.testing.assert_array_equal(pool.draw_columns(n, usable), np.sort(expected[:n]))
    assert n_copies or seen == [1, 40, len(some)]


def test_lira_reads_each_signal_of_the_pool_once(monkeypatch):
    rng, records = np.random.default_rng(0), Records(np.arange(500)[:, None], np.ones(500, int))
    inside = rng.random((8, 500)) < 0.5
    pool = ShadowPool.from_scores(rng.normal(size=(8, 500)), inside, records)
    read, take = np.zeros(500, dtype=int), _answers.take_columns

    def counted(values, columns):
        if values.dtype == np.float32:  # signals, and not training sets
            np.add.at(read, columns, 1)
        return take(values, columns)

    monkeypatch.setattr(_answers, "take_columns", counted)
    outputs = Outputs(np.column_stack([np.zeros(500), rng.normal(size=500)]), [0, 1], "logits")
    records = records.with_fields(outputs=outputs)
    LiRA(None, FrozenEstimator(pool)).fit(records).score_samples(records)
    # Once more for the comparison of 1,000 records, and of 100, with those of the victim.
    assert (read >= 1).all() and read.sum() == 500 + 500 + 100
