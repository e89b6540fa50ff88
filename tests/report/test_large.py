"""Audits of very many records: blocks of X, declared samples, and permutations of bundles."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from draws import few_and_many, most_by_chance
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB

import skmia
from skmia import Records, ShadowPool
from skmia._core import blind, moments, out_of_core, query
from skmia._core.containers import LazyRows
from skmia.attacks import LiRA
from skmia.report import _run as rounds
from skmia.report import find_duplicates, permutation_test
from skmia.report._measure import list_subsets
from skmia.report._run import draw_sample
from skmia.report.checks import _control as control
from skmia.report.checks import _drift as drift
from skmia.report.checks import _duplicates as duplicates
from skmia.report.checks import _units as labelings

N = 1200

audit = partial(skmia.audit, attacks={"LiRA": LiRA()}, file=False, fprs=(0.1,), random_state=0)


class WatchedRows(LazyRows):
    """Rows that remember the most that were read at a time."""

    most = 0

    @property
    def shape(self):
        return self._table.shape

    @property
    def dtype(self):
        return self._table.dtype

    def append(self, others):
        raise NotImplementedError

    def _read(self, key):
        rows = self._table[key]
        self.most = max(self.most, len(rows))
        return rows


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, 4)), rng.integers(2, size=N)
    return X, y, rng.permutation(N) % 2


@pytest.fixture(scope="module")
def pool(made):
    return ShadowPool(GaussianNB(), 8, random_state=0).fit(Records(*made[:2]))


# Reading X


@pytest.fixture
def few_rows(monkeypatch):
    """Blocks and samples of some hundred rows."""
    monkeypatch.setattr("skmia.report.checks._formats._MOST_RECORDS", 500)
    monkeypatch.setattr(duplicates, "_MOST_KNOWN", 300)
    monkeypatch.setattr(duplicates, "_QUERIES", (200, 200))
    monkeypatch.setattr(duplicates, "_BLOCK_QUERIES", 4 * 500)  # of four columns
    monkeypatch.setattr(query, "CHUNK", 500)
    monkeypatch.setattr(blind, "MOST_RECORDS", 500)
    monkeypatch.setattr(control, "_MOST_RECORDS", 500)
    monkeypatch.setattr(drift, "MOST_RECORDS", 500)
    monkeypatch.setattr("skmia.report.agreement._ask._MOST_RECORDS", 400)
    monkeypatch.setattr("skmia.report._sides._MOST_RECORDS", 500)


def test_checks_read_x_in_blocks_and_samples(made, pool, few_rows):
    X, y, membership = made
    victim = GaussianNB().fit(X[membership == 1], y[membership == 1])
    outputs = Records(X, y).with_outputs(victim)["outputs"]
    watched = WatchedRows(X)
    records = Records(watched, y, outputs=outputs)
    assert records.fingerprint.shape == (N,)
    watched.most = 0
    report = audit(victim, records, membership, shadows=FrozenEstimator(pool))
    assert report.checks["duplicates"].finding.n_queried == 200
    assert "of 200 non-members that were drawn at random" in report.checks["duplicates"].text
    assert report.baseline is not None and report.drift is not None
    assert 0 < watched.most <= 500


def frame(X):
    table = pd.DataFrame(X)
    table[0] = np.where(X[:, 0] < -1, np.nan, X[:, 0])
    table["few"] = pd.Series(np.where(X[:, 1] > 0, "a", "b")).where(X[:, 2] < 1)
    table["many"] = np.floor(30 * X[:, 3]).astype(int).astype(str)
    return table


@pytest.mark.parametrize(
    "make",
    [
        np.asarray,
        frame,
        pytest.param(lambda X: sparse.csr_array(X * (X > -0.5)), marks=pytest.mark.slow),
        pytest.param(lambda X: X.astype(object), marks=pytest.mark.slow),
    ],
    ids=["array", "frame", "sparse", "objects"],
)
def test_a_sample_of_rows_tells_the_scales(made, few_rows, make):
    X, _, membership = made[0].copy(), *made[1:]
    members, others = np.flatnonzero(membership), np.flatnonzero(membership == 0)
    X[others[:60]] = X[members[:60]] + 1e-9
    records = Records(make(X))
    found = find_duplicates(records, membership, random_state=0)
    near = found.pairs[found.pairs["relative"] < 0.01]
    planted = dict(zip(others[:60], members[:60]))
    assert {pair.nonmember: pair.member for pair in near.itertuples()}.items() >= planted.items()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "_MOST_KNOWN", N)
        whole = find_duplicates(records, membership, random_state=0)
    assert (found.n_exact, found.n_queried) == (whole.n_exact, whole.n_queried)
    assert found.n_near == pytest.approx(whole.n_near, rel=0.1)
    assert found.typical_distance == pytest.approx(whole.typical_distance, rel=0.1)


# Samples


def test_small_groups_are_in_the_sample_as_a_whole():
    rng = np.random.default_rng(0)
    kind = np.where(np.arange(N) < 20, "few", "many")
    records = Records(rng.normal(size=(N, 1)), kind=kind)
    subsets = list_subsets(records, "kind")
    rows = draw_sample(N, subsets, 300, 0)
    assert set(range(20)) <= set(rows)
    assert 300 <= len(set(rows)) == len(rows) <= 320
    assert draw_sample(N, subsets, N, 0) == slice(None)


def test_a_report_names_the_sample_on_which_attacks_are_repeated(made, pool, monkeypatch):
    X, y, membership = made
    records = Records(X, y, side=np.where(X[:, 0] > 0, "high", "low"))
    victim = GaussianNB().fit(X[membership == 1], y[membership == 1])
    settings = {"attacks": {"LiRA": LiRA()}, "shadows": FrozenEstimator(pool), "file": False}
    settings["group"] = "side"
    whole = audit(victim, records, membership, **settings)
    monkeypatch.setattr(rounds, "MOST_REPEATED", 800)
    report = audit(victim, records, membership, **settings)
    assert report.notes == [
        *whole.notes,
        "Shadow models were treated as the victim on 800 of 1,200 records, drawn at random.",
    ]
    pd.testing.assert_frame_equal(report.results, whole.results)
    assert report.permutation.frame.equals(whole.permutation.frame)
    sizes = [row["n_shadows"] for row in report.power["numbers"]]
    assert sizes == [row["n_shadows"] for row in whole.power["numbers"]]
    scopes = [scope["scope"] for scope in report.disparity["scopes"]]
    assert scopes == [scope["scope"] for scope in whole.disparity["scopes"]] == ["side", "class"]


def test_subsets_give_their_masks_more_than_once():
    kind = np.array(["b", "a", None, "a"], dtype=object)
    subsets = list_subsets(Records(np.eye(4), [2, 10, 2, 10], kind=kind), "kind", classes=True)
    names = ["all", "(missing)", "a", "b", "10", "2"]
    for _ in range(2):
        assert [group for _, group, _ in subsets] == names
        masks = np.array([mask for *_, mask in subsets])
        sums = [masks[rows].sum(axis=0).tolist() for rows in (slice(1), slice(1, 4), slice(4, 6))]
        assert sums == [[1, 1, 1, 1]] * 3
    assert len(subsets) == 6


# Tables in files


@pytest.mark.parametrize(
    "kind",
    [*(pytest.param(one, marks=pytest.mark.slow) for one in ("records", "copies")), "people"],
)
def test_an_audit_is_the_same_with_all_tables_in_files(made, monkeypatch, kind):
    X, y, membership = made
    X = np.round(X[:, :2]) if kind == "copies" else X
    people = {"group_by": np.arange(N) // 2} if kind == "people" else {}
    records = Records(X, y, **people)
    victim = GaussianNB().fit(X[membership == 1], y[membership == 1])
    monkeypatch.setattr(labelings, "MOST_UNITS", 500)
    monkeypatch.setattr(labelings, "_N_BUNDLES", 200)
    monkeypatch.setattr(rounds, "MOST_REPEATED", 800)
    monkeypatch.setattr(query, "CHUNK", 500)

    def run():
        report = audit(victim, records, membership, shadows=4)
        document = json.loads(report.to_json())
        return {key: document[key] for key in document.keys() - {"seconds", "created"}}

    whole = run()
    monkeypatch.setattr(out_of_core, "_MOST_IN_MEMORY", 0)
    monkeypatch.setattr(moments, "_BLOCK_ROWS", 300)
    assert run() == whole


# Permutations of bundles


@pytest.fixture
def bundled(monkeypatch):
    monkeypatch.setattr(labelings, "MOST_UNITS", 1)
    monkeypatch.setattr(labelings, "_N_BUNDLES", 60)


@few_and_many(300)
@pytest.mark.parametrize("n_people", [None, 70], ids=["records", "people"])
def test_pvalues_of_bundles_hold_the_level(bundled, n_people, n_draws):
    n_records, found = 100, 0
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        people = None if n_people is None else rng.integers(n_people, size=n_records)
        units = np.arange(n_records) if people is None else people
        membership = (rng.permutation(units.max() + 1) % 2)[units]
        scores = rng.normal(size=n_records) + rng.normal(size=n_records)[units]
        result = permutation_test(
            membership,
            {"exact": scores, "tied": np.round(scores)},
            max_fprs=[0.1],
            n_permutations=39,
            group_by=people,
            random_state=seed,
        )
        found += result.pvalue <= 0.1
    assert found <= most_by_chance(n_draws, 0.1)


def test_bundles_vary_as_much_as_free_permutations(made, monkeypatch):
    membership, rng = made[2], np.random.default_rng(0)
    scores = {"a": rng.normal(size=N), "b": np.round(rng.normal(size=N) + 0.1 * membership, 1)}
    subsets = [("x", "high", made[0][:, 0] > 0)]
    settings = {"max_fprs": [0.1], "subsets": subsets, "n_permutations": 999, "random_state": 0}
    free = permutation_test(membership, scores, **settings).frame
    monkeypatch.setattr(labelings, "MOST_UNITS", 1)
    monkeypatch.setattr(labelings, "_N_BUNDLES", 500)
    bundles = permutation_test(membership, scores, **settings).frame
    assert bundles["estimate"].tolist() == free["estimate"].tolist()
    # The standard deviation of 999 draws has a standard error of 2.2%, that of a ratio 3.2%; a TPR
    # with ties and the pairs that were drawn add some.
    np.testing.assert_allclose(bundles["null_sd"], free["null_sd"], rtol=0.15)
    errors = free["null_sd"] / np.sqrt(999)
    assert ((bundles["null_mean"] - free["null_mean"]).abs() < 12 * errors).all()


def test_bundles_do_not_depend_on_the_order_of_records(made, bundled):
    membership, rng = made[2], np.random.default_rng(0)
    scores, order = {"a": rng.normal(size=N)}, rng.permutation(N)
    settings = {"max_fprs": [0.05], "n_permutations": 99, "random_state": 0}
    frame = permutation_test(membership, scores, **settings).frame
    scores = {"a": scores["a"][order]}
    assert permutation_test(membership[order], scores, **settings).frame.equals(frame)


def test_a_leak_is_found_by_bundles_of_people_on_both_sides(bundled):
    rng = np.random.default_rng(0)
    people = np.arange(400) // 4
    membership = rng.integers(2, size=400)
    result = permutation_test(
        membership, rng.normal(size=400) + membership, group_by=people, random_state=0
    )
    assert result.n_mixed > 50 and result.pvalue == 0.001


def test_people_of_one_record_each_are_records(made):
    rng, membership = np.random.default_rng(0), made[2]
    scores, settings = {"a": rng.normal(size=N)}, {"n_permutations": 99, "random_state": 0}
    frame = permutation_test(membership, scores, **settings).frame
    people = rng.permutation(N)
    assert permutation_test(membership, scores, group_by=people, **settings).frame.equals(frame)
