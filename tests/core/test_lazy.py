"""Tables that are not in memory give the numbers of tables in memory, and are read in blocks."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool, audit
from skmia._core import containers, hashing
from skmia.attacks import LiRA
from skmia.datasets import make_membership_problem


@pytest.fixture(scope="module")
def problem():
    return make_membership_problem(200, random_state=0)


def as_dask(X):
    da = pytest.importorskip("dask.array")
    return da.from_array(np.asarray(X), chunks=(70, -1))


def as_arrow(X):
    pyarrow = pytest.importorskip("pyarrow")
    frame = pd.DataFrame(np.asarray(X), columns=[f"x{j}" for j in range(X.shape[1])])
    return pyarrow.Table.from_pandas(frame, preserve_index=False)


KINDS = pytest.mark.parametrize("convert", [as_dask, as_arrow], ids=["dask", "arrow"])


def in_memory(table):
    return table.to_pandas() if hasattr(table, "to_pandas") else table.compute()


@KINDS
def test_rows_and_hashes_are_those_in_memory(problem, convert, monkeypatch):
    monkeypatch.setattr(hashing, "_LAZY_ROWS", 30)
    table = convert(problem[0].X)
    lazy, known = Records(table, problem[0].y), Records(in_memory(table), problem[0].y)
    assert isinstance(lazy.X, containers.DaskRows if convert is as_dask else type(table))
    read = np.ndarray if convert is as_dask else type(table)
    np.testing.assert_array_equal(lazy.digests, known.digests)
    rows = np.array([5, 3, 150, -1])
    for key in (slice(10, 20), slice(None, None, -3), rows, problem[1] == 1):
        assert type(lazy[key].X) is read
        np.testing.assert_array_equal(lazy[key].X, known[key].X)
        np.testing.assert_array_equal(lazy[key].y, known[key].y)
    joined = Records.concat([lazy, lazy])
    np.testing.assert_array_equal(joined.X, Records.concat([known, known]).X)
    assert "200" in repr(lazy)


@KINDS
def test_two_sides_are_joined_without_reading_them(problem, convert):
    table, y = convert(problem[0].X), problem[0].y
    records, membership = Records.from_sides((table, y), (table, y))
    assert type(records.X) is type(Records(table).X)
    assert membership.tolist() == [1] * 200 + [0] * 200
    np.testing.assert_array_equal(records[200:].digests, Records(table, y).digests)


@KINDS
def test_pools_and_scores_are_those_in_memory(problem, convert, tmp_path, monkeypatch):
    table, y = convert(problem[0].X), problem[0].y
    place, name = (containers.DaskRows, "_read")
    if convert is as_arrow:  # what is read of such a table, and not only cut out of it
        place, name = containers, "to_pandas"
    read, original = [], getattr(place, name)

    def watch(*arguments):
        rows = original(*arguments)
        read.append(len(rows))
        return rows

    monkeypatch.setattr(place, name, watch)
    for module in ("_core.asking", "_training.job", "shadow._job", "shadow._stored"):
        monkeypatch.setattr(f"skmia.{module}.CHUNK", 50)
    monkeypatch.setattr("skmia._core.hashing._LAZY_ROWS", 50)
    monkeypatch.setattr("skmia._training.digests._LAZY_ROWS", 50)
    tree, members = DecisionTreeClassifier(max_depth=3, random_state=0), problem[1] == 1
    pool = ShadowPool(tree, 8, checkpoint=tmp_path / "pool", on_disk=True, random_state=0)
    scores = []
    for X in (table, in_memory(table)):
        records = Records(X, y)
        victim = FrozenEstimator(clone(tree).fit(records[members].X, y[members]))
        own = clone(pool).set_params(checkpoint=tmp_path / type(X).__name__).fit(records)
        attack = LiRA(victim, shadows=FrozenEstimator(own)).fit(records)
        scores.append(attack.score_samples(records))
    np.testing.assert_array_equal(*scores)
    assert 0 < max(read) <= 100  # the half that a model is trained on, or a block


@KINDS
def test_an_audit_reads_them(problem, convert):
    table, y = convert(problem[0].X), problem[0].y
    reports = [
        audit(
            DecisionTreeClassifier(max_depth=3, random_state=0),
            Records(X, y),
            problem[1],
            shadows=8,
            attacks={"LiRA": LiRA()},
            file=False,
            random_state=0,
        )
        for X in (table, in_memory(table))
    ]
    assert reports[0].to_frame().equals(reports[1].to_frame())
    assert {name: check.status for name, check in reports[0].findings.checks.items()} == {
        name: check.status for name, check in reports[1].findings.checks.items()
    }


def test_a_dask_array_of_unknown_length_is_refused():
    da = pytest.importorskip("dask.array")
    X = da.from_array(np.eye(6), chunks=2)
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        Records(X[X[:, 0] == 0])
