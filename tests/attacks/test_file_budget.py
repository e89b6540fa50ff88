"""Attacks on files keep to a memory that is known before they begin."""

import pickle
import textwrap

import numpy as np
import pytest
from cells import slow_but
from forked import FORKS, run_program
from scipy import sparse
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from skmia import Records
from skmia._core.budget import Cost
from skmia.attacks import (
    NodeEquationsAttack,
    ReleasedModelAttack,
    SplitThresholdAttack,
    StationarityAttack,
)
from skmia.victims import read_node_equations, read_split_thresholds
from skmia.victims._split_thresholds import ThresholdAllowance

RNG = np.random.default_rng(0)
N = 400
X = RNG.normal(size=(N, 5))
Y = (X[:, 0] + RNG.normal(size=N) > 0).astype(int)
MEMBER = np.arange(N) % 2 == 0
RECORDS = Records(X, Y)

# Each case is run in a copy of a process that holds little but what it has imported.
LIMITED = """
    import resource
    import warnings

    import numpy as np
    from scipy import sparse
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    from skmia import Records
    from skmia.attacks import NodeEquationsAttack, ReleasedModelAttack, StationarityAttack

    rng = np.random.default_rng(0)

    def make_model(n_classes, d):
        model = LogisticRegression()
        model.classes_, model.n_features_in_ = np.arange(n_classes), d
        n_outputs = n_classes if n_classes > 2 else 1
        model.coef_, model.intercept_ = rng.normal(size=(n_outputs, d)) / d, np.zeros(n_outputs)
        model.n_iter_ = np.ones(1, dtype=np.int32)
        return model

    def limit(megabytes):
        np.ones((100, 100)) @ np.ones((100, 100))  # what the library of products holds
        pages = int(open("/proc/self/statm").read().split()[0])
        most = pages * resource.getpagesize() + 1_000_000 * megabytes
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
"""
CLASSES = """
    n, n_classes, d = 1000, 100, 80
    records = Records(rng.normal(size=(n, d)), np.arange(n) % n_classes)
    model = make_model(n_classes, d)
    limit(50)  # a matrix of all gradients holds 65 MB, and of all pairs of equations 525 MB
    attack = StationarityAttack(model, solver="ridge", random_state=0).fit(records)
    assert attack.n_equations_ == n_classes * (d + 1) + 1
"""
TEXTS = """
    n, d = 500, 50_000
    records = Records(sparse.random(n, d, 0.002, format="csr", random_state=0), np.arange(n) % 2)
    model = make_model(2, d)
    limit(100)  # the features as an array hold 200 MB
    attack = StationarityAttack(model, solver="ridge", random_state=0).fit(records)
    assert 30_000 < attack.n_equations_ <= d + 1
"""
TREES = """
    n = 5000
    X, y = rng.normal(size=(n, 6)), np.arange(n) % 2
    model = RandomForestClassifier(200, max_depth=4, random_state=0).fit(X[:500], y[:500])
    records = Records(X, y)
    records.fingerprint
    limit(15)  # equations of all trees hold 23 MB, and their thresholds more
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        attack = ReleasedModelAttack(model, max_bytes=6.7e6, max_seconds=1e-9, random_state=0)
        attack.fit(records)
    assert {"node equations", "split thresholds"} <= set(attack.parts_)
    assert attack.left_out_ == {}
    assert any("of 200 trees of the RandomForest" in str(one.message) for one in caught)
"""


CASES = {"classes": CLASSES, "texts": TEXTS, "trees": TREES}


@FORKS
@pytest.mark.parametrize("case", slow_but(CASES, "classes", "trees"))
def test_a_part_ends_within_little_memory(case):
    end, _, told = run_program(textwrap.dedent(LIMITED) + textwrap.dedent(CASES[case]))
    assert end == 0, told[-2000:]


@pytest.mark.parametrize("penalty", [1.0, np.inf], ids=["ridge", "no penalty"])
def test_a_sparse_table_is_judged_as_the_same_dense_one(penalty):
    thin = np.where(np.abs(X) > 0.7, X, 0.0)
    model = LogisticRegression(C=penalty, tol=1e-8).fit(thin[MEMBER], Y[MEMBER])
    dense = StationarityAttack(model).fit(Records(thin, Y))
    stored = StationarityAttack(model).fit(Records(sparse.csr_array(thin), Y))
    assert stored.n_equations_ == dense.n_equations_ == 7
    found = [one.score_samples(Records(thin, Y)) for one in (dense,)]
    found += [stored.score_samples(Records(sparse.csr_array(thin), Y))]
    np.testing.assert_allclose(*found, rtol=1e-6, atol=1e-6)


FOREST = RandomForestClassifier(40, max_depth=5, random_state=0).fit(X[MEMBER], Y[MEMBER])
GRADIENT = GradientBoostingClassifier(n_estimators=30, random_state=0).fit(X[MEMBER], Y[MEMBER])
HISTOGRAM = HistGradientBoostingClassifier(max_iter=30, random_state=0).fit(X[MEMBER], Y[MEMBER])


@pytest.mark.parametrize("model", [FOREST, GRADIENT, HISTOGRAM], ids=lambda one: type(one).__name__)
def test_trees_that_are_read_state_what_they_state_among_all(model):
    every = read_node_equations(model, RECORDS)
    n_all = every.rows.nnz
    some = read_node_equations(model, RECORDS, most=n_all / 3)
    read, n_trees = some.chosen["trees"].read, some.chosen["trees"].n_parts
    assert n_all / 6 < some.rows.nnz <= n_all / 3
    assert 0 in read and 1 < len(read) < n_trees
    # They are spread evenly.
    assert np.ptp(np.diff(sorted(read))) <= 2
    # Each equation is one of those of all trees, so it holds for members.
    known = {(row.tobytes(), target) for row, target in zip(every.rows.toarray(), every.targets)}
    assert all(
        (row.tobytes(), target) in known for row, target in zip(some.rows.toarray(), some.targets)
    )
    plenty = read_node_equations(model, RECORDS, most=1e9)
    assert (plenty.rows != every.rows).nnz == 0


def test_a_forest_of_which_some_trees_are_read_is_attacked_and_says_so():
    with pytest.warns(UserWarning, match=r"The equations of 1\d of 40 trees .* were read"):
        attack = NodeEquationsAttack(FOREST)
        attack._allowed = 20 * N * 14
        attack.fit(RECORDS)
    some = roc_auc_score(MEMBER, attack.score_samples(RECORDS))
    every = roc_auc_score(MEMBER, NodeEquationsAttack(FOREST).fit(RECORDS).score_samples(RECORDS))
    assert 0.6 < some < every
    # Others are judged by the same trees.
    others = Records(X + 1e-9, Y)
    later = attack.score_samples(others)
    np.testing.assert_array_equal(later, attack.score_samples(others))
    assert np.isfinite(later).all()


@pytest.mark.filterwarnings("ignore:The (equations|thresholds) of")
def test_trees_that_are_not_read_stay_in_the_ledger():
    attack = ReleasedModelAttack(FOREST, max_bytes=20 * N * 14).fit(RECORDS)
    counts = attack.ledger_[attack.ledger_["place"].str.startswith("n_node_samples")]
    assert set(counts["part"]) == {"node equations", None}
    every = ReleasedModelAttack(FOREST).fit(RECORDS).ledger_
    counts = every[every["place"].str.startswith("n_node_samples")]
    assert set(counts["part"]) == {"node equations"}


@pytest.mark.parametrize("model", [FOREST, HISTOGRAM], ids=lambda one: type(one).__name__)
def test_thresholds_keep_to_the_memory(model):
    every = read_split_thresholds(model, X, 0.5)
    for most in (1e9, 3e4):
        allowance = ThresholdAllowance(most)
        some = read_split_thresholds(model, X, 0.5, allowance=allowance)
        if model is FOREST:
            read = allowance.chosen["trees"].read
            assert [one.sample for one in some] == sorted(read)
            assert (len(read) == 40) == (most == 1e9)
            pairs = zip((every[k] for k in sorted(read)), some, strict=True)
        else:  # columns are read one by one
            pairs = zip(every, some, strict=True)
        for expected, found in pairs:
            for one, other in zip(expected, found, strict=True):
                np.testing.assert_array_equal(one, other)


def test_a_part_that_would_hold_too_much_is_left_out_with_its_size(monkeypatch):
    cost = Cost(74.4e9, what="10,000 records, 30 columns and 1,000 classes")
    monkeypatch.setattr(SplitThresholdAttack, "_estimate_cost", lambda *_: cost)
    attack = ReleasedModelAttack(HISTOGRAM).fit(RECORDS)
    assert "split thresholds" not in attack.parts_
    assert attack.left_out_["split thresholds"] == (
        "It would hold 74.4 GB for 10,000 records, 30 columns and 1,000 classes, and 500 MB are "
        "allowed; max_bytes allows more."
    )
    assert roc_auc_score(MEMBER, attack.score_samples(RECORDS)) > 0.9


def test_costs_are_known_before_a_part_begins():
    linear = LogisticRegression().fit(X[MEMBER], Y[MEMBER])
    costs = [ReleasedModelAttack(linear, max_bytes=size) for size in (1e4, 1e9)]
    with pytest.raises(ValueError, match="hold 0.04 MB for 400 records, 5 columns and 1 output, "):
        costs[0].fit(RECORDS)
    assert set(costs[1].fit(RECORDS).parts_) == {"conditions at the optimum", "stored values"}


@pytest.mark.parametrize(("size", "is_read"), [(31_999, False), (32_000, True)])
def test_a_tree_has_at_least_four_coefficients_of_twenty_bytes_for_a_record(size, is_read):
    tree = DecisionTreeClassifier(max_depth=3).fit(X[MEMBER], Y[MEMBER])
    attack = ReleasedModelAttack(tree, max_bytes=size).fit(RECORDS)
    told = attack.left_out_.get("node equations", "")
    assert ("one tree and 400 records, and 0.031999 MB are allowed" in told) != is_read


@pytest.mark.parametrize("place", ["_read", "solve_again"])
def test_a_part_for_which_memory_does_not_suffice_is_left_out(place, monkeypatch):
    def fail(*args):
        raise MemoryError("Unable to allocate 74.4 GiB for an array with shape (9, 9)")

    monkeypatch.setattr(NodeEquationsAttack, place, fail)
    attack = ReleasedModelAttack(HISTOGRAM).fit(RECORDS)
    (why,) = attack.left_out_.values()
    assert why == "Memory did not suffice: 79.9 GB could not be had at once."
    assert ("node equations" in attack.parts_) == (place == "solve_again")
    assert "split thresholds" in attack.parts_
    assert np.isfinite(attack.score_samples(RECORDS)).all()


def test_attacks_on_linear_models_are_picklable():
    model = LogisticRegression().fit(X[MEMBER], Y[MEMBER])
    attack = ReleasedModelAttack(model, outsiders=0.0, random_state=0).fit(RECORDS)
    again = pickle.loads(pickle.dumps(attack))
    np.testing.assert_array_equal(again.score_samples(RECORDS), attack.score_samples(RECORDS))


def test_propagation_that_would_take_longer_gives_way_to_bounds_and_says_so():
    victim = LogisticRegression().fit(X[MEMBER], Y[MEMBER])
    with pytest.warns(UserWarning, match="7 equations of 400 candidates were solved with bounds"):
        short = ReleasedModelAttack(victim, max_seconds=1e-9, random_state=0).fit(RECORDS)
    parts = [short.parts_["conditions at the optimum"]]
    for seconds in (None, 60.0):  # a warning would be an error
        enough = ReleasedModelAttack(victim, max_seconds=seconds, random_state=0).fit(RECORDS)
        parts.append(enough.parts_["conditions at the optimum"])
    bounded = StationarityAttack(victim, solver="bounded", random_state=0).fit(RECORDS)
    least, whole, same = (part.score_samples(RECORDS) for part in parts)
    np.testing.assert_allclose(least, bounded.score_samples(RECORDS))
    np.testing.assert_array_equal(whole, same)
    assert not np.allclose(whole, least)


def test_how_long_equations_take_grows_with_the_smaller_side_and_ends_at_the_limit():
    expect = StationarityAttack.expect_seconds
    assert expect(200, 2000) / expect(100, 2000) == pytest.approx(4, rel=0.05)
    # Twice as many candidates: the smaller system stays as large.
    assert expect(100, 4000) / expect(100, 2000) == pytest.approx(2, rel=0.05)
    assert expect(3000, 2000) == expect(2000, 2000)  # the system of the bits is the smaller one
    usual = expect(900, 6000)
    assert expect(900, 6000, most=0.99 * usual) == 0.0 < usual == expect(900, 6000, most=usual)
    assert expect(4001, 4001) == 0.0  # too large for propagation
