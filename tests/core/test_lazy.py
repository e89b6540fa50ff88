"""Tables that are not in memory give the numbers of tables in memory, and are read in blocks."""

import pickle

import numpy as np
import pandas as pd
import pytest
from cells import slow_but
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
    for module in ("_core.query", "_training.job", "shadow._job", "shadow._answers"):
        monkeypatch.setattr(f"skmia.{module}.CHUNK", 50)
    monkeypatch.setattr("skmia._core.hashing._LAZY_ROWS", 50)
    monkeypatch.setattr("skmia._training.digests._LAZY_ROWS", 50)
    tree, members = DecisionTreeClassifier(max_depth=3, random_state=0), problem[1] == 1
    pool = ShadowPool(tree, 4, checkpoint=tmp_path / "pool", on_disk=True, random_state=0)
    scores = []
    for X in (table, in_memory(table)):
        records = Records(X, y)
        victim = FrozenEstimator(clone(tree).fit(records[members].X, y[members]))
        own = clone(pool).set_params(checkpoint=tmp_path / type(X).__name__).fit(records)
        attack = LiRA(victim, shadows=FrozenEstimator(own)).fit(records)
        scores.append(attack.score_samples(records))
    np.testing.assert_array_equal(*scores)
    assert 0 < max(read) <= 100  # the half that a model is trained on, or a block


@pytest.mark.parametrize("convert", slow_but([as_dask, as_arrow], as_dask), ids=["dask", "arrow"])
@pytest.mark.usefixtures("quick_audits")
def test_an_audit_reads_them(problem, convert):
    table, y = convert(problem[0].X), problem[0].y
    reports = [
        audit(
            DecisionTreeClassifier(max_depth=3, random_state=0),
            Records(X, y),
            problem[1],
            shadows=4,
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


def as_files(frame, folder):
    """A folder of parquet in row groups, of which most lack no value."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    for k in range(3):
        part = pa.Table.from_pandas(frame[40 * k : 40 * (k + 1)], preserve_index=False)
        for name in ("count", "flag"):  # pandas itself has no type for them
            values = [
                None if value is pd.NA else value for value in frame.visits[40 * k : 40 * (k + 1)]
            ]
            values = pa.array(values, pa.int64())
            part = part.append_column(name, values.cast(pa.bool_()) if name == "flag" else values)
        parquet.write_table(part, folder / f"{k}.parquet", row_group_size=15)
    return folder


OPENED = {
    "folder": lambda folder: folder,
    "file": lambda folder: str(folder / "0.parquet"),
    "dataset": lambda folder: pytest.importorskip("pyarrow.dataset").dataset(folder),
    "polars": lambda folder: pytest.importorskip("polars").scan_parquet(folder),
    "dask": lambda folder: pytest.importorskip("dask.dataframe").from_pandas(
        pd.read_parquet(folder), npartitions=3
    ),
}


def load(opened):
    if hasattr(opened, "collect") or hasattr(opened, "compute"):
        return opened.collect() if hasattr(opened, "collect") else opened.compute()
    return pd.read_parquet(opened if isinstance(opened, str) else getattr(opened, "files", opened))


@pytest.fixture(params=OPENED)
def opened(request, tmp_path):
    rng = np.random.default_rng(0)
    late = np.arange(120) > 100  # missing values and categories that most row groups lack
    names = np.where(late, "new", rng.choice(["a", "b"], 120))
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=120).astype(np.float32),
            "wage": np.where(late, np.nan, rng.normal(size=120)),
            "visits": pd.array(np.where(late, None, rng.integers(9, size=120)), dtype="Int64"),
            "place": pd.Categorical(names),
            "name": np.where(late, None, names),
            "label": rng.integers(2, size=120),
        }
    )
    frame["place"] = frame["place"].cat.set_categories(["new", "b", "a", "never"])
    (tmp_path / "rows").mkdir()
    return OPENED[request.param](as_files(frame, tmp_path / "rows"))


# An opened dataset and a single file are read as the folder is.
@pytest.mark.parametrize("opened", slow_but(OPENED, "folder", "polars", "dask"), indirect=True)
def test_rows_of_files_are_those_of_the_frame(opened, monkeypatch):
    monkeypatch.setattr(containers, "_TABLE_ROWS", 45)
    frame = load(opened)
    lazy, known = Records.from_frame(opened, "label"), Records.from_frame(frame, "label")
    assert isinstance(lazy.X, containers.TableRows)
    np.testing.assert_array_equal(lazy.digests, known.digests)
    # Types and codes are those of the table, in blocks that lack what others have.
    for key in (slice(10, 20), slice(None, None, -3), [5, 3, 29, -1, 5], slice(0), slice(None)):
        read, wanted = lazy[key].X, known[key].X
        assert type(read) is type(frame)
        if isinstance(read, pd.DataFrame):
            read, wanted = (rows.reset_index(drop=True) for rows in (read, wanted))
            pd.testing.assert_frame_equal(read, wanted)
        else:
            assert read.equals(wanted) and read.schema == wanted.schema
    sides = Records.from_sides((lazy.X, lazy.y), (lazy.X.select(lazy.X.columns[::-1]), lazy.y))[0]
    np.testing.assert_array_equal(sides.digests, np.tile(known.digests, 2))
    again = pickle.loads(pickle.dumps(lazy))
    np.testing.assert_array_equal(Records(again.X, again.y).digests, known.digests)


@pytest.mark.parametrize("opened", slow_but(OPENED, "folder", "dask"), indirect=True)
def test_a_pool_of_files_is_that_of_the_frame(opened, monkeypatch):
    monkeypatch.setattr(containers, "_TABLE_ROWS", 45)
    frame, columns, gone = load(opened), ["x", "wage"], ["count", "flag"]
    pool, members = ShadowPool(DecisionTreeClassifier(max_depth=3), 2, random_state=0), []
    for table in (opened, frame):
        records = Records.from_frame(table, "label", drop=["visits", "place", "name", *gone])
        assert list(records.X.columns) == columns
        members.append(clone(pool).fit(records).signals_)
    np.testing.assert_array_equal(*members)


def test_categories_unknown_to_dask_are_refused():
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"x": np.arange(4.0), "place": list("abab")})
    X = dd.from_pandas(frame, npartitions=2).astype({"place": "category"})
    with pytest.raises(ValueError, match=r"categories that dask does not know; .*categorize"):
        Records(X)


class Blocks(containers.TableRows):
    """Rows of blocks, of which each has some tables."""

    def __init__(self, *blocks):
        lengths = [sum(map(len, tables)) for tables in blocks]
        super().__init__(pd.DataFrame(), list(blocks), lengths, ["a"])
        self.read = []

    def _list_tables(self, block):
        for table in block:
            self.read.append(len(table))
            yield pd.DataFrame({"a": table})


def test_of_tables_within_blocks_no_more_are_read_than_are_needed():
    rows = Blocks([[1, 2], [3], [4, 5, 6]], [[7], [8, 9]])
    assert repr(rows) == "LazyRows(pandas.DataFrame(9, 1))"
    for key, values, read in (
        (slice(2, 4), [3, 4], [2, 1, 3]),
        (slice(0, 2), [1, 2], [2]),
        ([8, 2, 2], [9, 3, 3], [2, 1, 1, 2]),
        ([-1], [9], [1, 2]),
        (slice(0, 0), [], [2]),
        (np.arange(9) == 6, [7], [1]),
    ):
        rows.read.clear()
        assert rows[key]["a"].tolist() == values
        assert rows.read == read, key
    with pytest.raises(ValueError, match=r"X is a pandas.DataFrame without rows\."):
        Blocks()


def test_paths_that_are_no_tables_say_why(tmp_path):
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match="path of parquet; .*gone is none, and no file either"):
        containers.as_lazy(tmp_path / "gone")
    path = tmp_path / "damaged.parquet"
    path.write_bytes(b"no\nparquet")
    with pytest.raises(ValueError, match=r"damaged.parquet is none \(.{20,100}\)\.$") as caught:
        containers.as_lazy(str(path))
    assert "\n" not in str(caught.value)
