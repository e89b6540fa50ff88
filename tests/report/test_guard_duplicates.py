"""Copies and near copies on both sides: planted ones, chance, and every kind of features."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from cells import slow_but
from draws import few_and_many, most_by_chance
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, audit
from skmia.attacks import ThresholdAttack
from skmia.metrics import Interval, clopper_pearson, tpr_at_fpr_score
from skmia.report import find_duplicates
from skmia.report.checks import _duplicates as duplicates
from skmia.report.checks._duplicates import Duplicates

N_MEMBERS, N_OTHERS, N_PLANTED = 400, 300, 12
MEMBERSHIP = np.repeat([1, 0], [N_MEMBERS, N_OTHERS])
# The first members are the models of the first non-members.
PLANTED = {N_MEMBERS + k: k for k in range(N_PLANTED)}


def plant(X, noise):
    X = X.copy()
    X[N_MEMBERS : N_MEMBERS + N_PLANTED] = X[:N_PLANTED] + noise
    return X


def gaussian(d=10, seed=0):
    return np.random.default_rng(seed).normal(size=(N_MEMBERS + N_OTHERS, d))


def planted_pairs(found):
    closest = found.pairs.head(N_PLANTED)
    return dict(zip(closest["nonmember"], closest["member"]))


# What is found


def test_independent_records_of_ten_dimensions_have_no_twins():
    found = find_duplicates(Records(gaussian()), MEMBERSHIP)
    assert (found.n_exact, found.n_near, found.n_queried) == (0, 0, N_OTHERS)
    assert found.share_near == (0, *clopper_pearson(0, N_OTHERS))


def test_planted_near_copies_are_found():
    X = plant(gaussian(), noise=0.01)
    found = find_duplicates(Records(X), MEMBERSHIP)
    assert (found.n_exact, found.n_near) == (0, N_PLANTED)
    assert planted_pairs(found) == PLANTED
    assert found.share_near == (N_PLANTED / N_OTHERS, *clopper_pearson(N_PLANTED, N_OTHERS))


def test_distances_are_those_of_standardized_columns():
    X = gaussian() * [1, 10, 1e-3, 1e5, 1, 1, 1, 1, 1, 1]
    distances = cdist(X[N_MEMBERS:] / X.std(axis=0), X[:N_MEMBERS] / X.std(axis=0))
    found = find_duplicates(Records(X), MEMBERSHIP)
    nearest = distances.min(axis=1)
    assert found.typical_distance == pytest.approx(np.median(nearest))
    order = np.argsort(nearest)[:100]
    assert len(found.pairs) == 100
    np.testing.assert_array_equal(found.pairs["nonmember"], N_MEMBERS + order)
    np.testing.assert_array_equal(found.pairs["member"], distances.argmin(axis=1)[order])
    np.testing.assert_allclose(found.pairs["distance"], nearest[order])
    np.testing.assert_allclose(found.pairs["relative"], nearest[order] / np.median(nearest))


def test_exact_copies_are_counted_once_and_are_not_near_copies():
    X = plant(gaussian(), noise=0)
    y = np.zeros(len(X))
    y[N_MEMBERS] = 1  # the first copy has another label: it is a near copy at distance 0
    found = find_duplicates(Records(X, y), MEMBERSHIP)
    assert found.n_exact == 2 * (N_PLANTED - 1)
    assert found.n_queried == N_OTHERS - (N_PLANTED - 1)
    assert found.n_near == 1
    first = found.pairs.iloc[0]
    assert (first["nonmember"], first["member"], first["distance"]) == (N_MEMBERS, 0, 0)


def test_near_copies_by_chance_are_as_many_as_the_dimension_says():
    rng = np.random.default_rng(0)
    membership = np.repeat([1, 0], 2000)
    for d in (1, 2):
        found = find_duplicates(Records(rng.uniform(size=(4000, d))), membership)
        expected = 1 - 2 ** -(0.1**d)
        assert abs(found.share_near.estimate - expected) < 4 * np.sqrt(expected / 2000)


def test_records_close_to_each_other_and_far_from_their_mean():
    # A square of such a coordinate leaves float32, and nearly float64, nothing of the differences.
    line = np.sort(np.random.default_rng(0).uniform(size=N_MEMBERS + N_OTHERS))[:, None]
    line[-1] = 1e6
    membership = np.arange(len(line)) % 2
    found = find_duplicates(Records(line), membership)
    members, others = line[membership == 1], line[membership == 0]
    nearest = np.abs(others - members.T).min(axis=1) / line.std()
    assert found.typical_distance == pytest.approx(np.median(nearest), rel=1e-3)


def test_many_blocks_of_members_give_what_one_gives(monkeypatch):
    from skmia.report.checks import _duplicates

    records = Records(plant(gaussian(), noise=0.01))
    whole = find_duplicates(records, MEMBERSHIP)
    monkeypatch.setattr(_duplicates, "_BLOCK_QUERIES", 37 * N_OTHERS)
    pd.testing.assert_frame_equal(find_duplicates(records, MEMBERSHIP).pairs, whole.pairs)


# Kinds of features


def test_a_table_of_numbers_categories_and_gaps():
    rng = np.random.default_rng(0)
    X = plant(gaussian(8), noise=0.005)
    table = pd.DataFrame(X, columns=list("abcdefgh"))
    for name, values in {"few": list("xyz"), "many": [f"v{i}" for i in range(200)]}.items():
        drawn = rng.choice(values, len(X)).astype(object)
        drawn[N_MEMBERS : N_MEMBERS + N_PLANTED] = drawn[:N_PLANTED]
        table[name] = drawn
    table["constant"] = 0.1
    table["when"] = pd.Timestamp("2020-01-01")
    table["few"] = pd.Categorical(table["few"])
    table.loc[[5, N_MEMBERS + 5], "a"] = np.nan
    table.loc[[6, N_MEMBERS + 6], "when"] = pd.NaT
    found = find_duplicates(Records(table), MEMBERSHIP)
    assert (found.n_near, planted_pairs(found)) == (N_PLANTED, PLANTED)
    # Another category is as far away as one can be in that column: no near copy any more.
    for name in ("few", "many"):
        column = table[name].astype(object)
        column[N_MEMBERS] = "another"
        changed = Records(table.assign(**{name: column}))
        assert find_duplicates(changed, MEMBERSHIP).n_near == N_PLANTED - 1


@pytest.mark.parametrize("n_categories", [5, 500])
def test_two_categories_are_at_distance_one(n_categories):
    codes = np.arange(1000) % n_categories
    X = pd.DataFrame({"code": [f"c{code}" for code in codes], "same": "x"})
    membership = codes < n_categories // 2
    found = find_duplicates(Records(X), membership)
    assert found.n_exact == 0
    np.testing.assert_allclose(found.pairs["distance"], 1)
    assert found.n_near == 0


def test_a_missing_number_differs_from_the_median_by_one():
    X = np.array([[1.0], [3.0], [3.0], [5.0], [np.nan], [np.inf]])
    found = find_duplicates(Records(X, np.arange(6)), [1, 1, 1, 1, 0, 0])
    np.testing.assert_allclose(found.pairs["distance"], 1)


def test_a_missing_number_of_a_sparse_matrix_differs_from_zero_by_one():
    X = sparse.csr_array([[0.0, 2.0], [2.0, 0.0], [np.nan, 2.0], [2.0, -np.inf]])
    found = find_duplicates(Records(X), [1, 1, 0, 0])
    assert dict(zip(found.pairs["nonmember"], found.pairs["member"])) == {2: 0, 3: 1}
    np.testing.assert_allclose(found.pairs["distance"], 1)


@pytest.mark.parametrize("kind", ["csr_array", "coo_matrix"])
def test_a_sparse_matrix_gives_what_its_dense_form_gives(kind):
    rng = np.random.default_rng(0)
    X = plant(gaussian(30) * (rng.random((N_MEMBERS + N_OTHERS, 30)) < 0.4), noise=0)
    X[N_MEMBERS : N_MEMBERS + N_PLANTED] *= 1.01
    X[:, 3] = 0
    dense = find_duplicates(Records(X), MEMBERSHIP)
    found = find_duplicates(Records(getattr(sparse, kind)(X)), MEMBERSHIP)
    assert (found.n_near, planted_pairs(found)) == (N_PLANTED, PLANTED)
    assert found.typical_distance == pytest.approx(dense.typical_distance)
    np.testing.assert_allclose(found.pairs["distance"], dense.pairs["distance"], atol=1e-9)


def test_images_keep_their_one_unit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_MEMBERS + N_OTHERS, 6, 6, 3))
    X[:, 0] *= 1e-3  # a border that hardly varies
    noise = np.zeros((6, 6, 3))
    noise[0] = 3e-3
    X = plant(X, noise)
    found = find_duplicates(Records(X), MEMBERSHIP)
    assert (found.n_near, planted_pairs(found)) == (N_PLANTED, PLANTED)
    flat = X.reshape(len(X), -1)
    nearest = cdist(flat[N_MEMBERS:], flat[:N_MEMBERS]).min(axis=1)
    unit = np.sqrt(flat.var(axis=0).mean())
    assert found.typical_distance == pytest.approx(np.median(nearest) / unit)
    as_table = find_duplicates(Records(flat), MEMBERSHIP)
    assert as_table.n_near == 0  # there the border counts as much as every other column


def test_a_tensor_gives_what_its_array_gives():
    torch = pytest.importorskip("torch")
    X = plant(gaussian().astype(np.float32), noise=np.float32(0.01))
    found = find_duplicates(Records(torch.tensor(X)), MEMBERSHIP)
    pd.testing.assert_frame_equal(
        found.pairs, find_duplicates(Records(X), MEMBERSHIP).pairs, check_exact=True
    )


CONTAINERS = {
    "no columns": np.empty((60, 0)),
    "constant": np.full((60, 2), 0.1),
    "empty sparse": sparse.csr_array((60, 3)),
    "sparse without columns": sparse.csr_array((60, 0)),
    "one column, no matrix": np.arange(60.0),
    "texts": np.array([f"text {i}" for i in range(60)]),
    "objects": np.array([[i, "a", None] for i in range(60)], dtype=object),
    "complex": np.arange(60)[:, None] * 1j,
    "booleans": np.arange(60)[:, None] % [2, 3] > 0,
    "huge": 1.7e308 * np.linspace(-1, 1, 60)[:, None],
    "tiny": np.linspace(0, 1e-300, 60)[:, None],
    "no number": np.full((60, 2), np.nan),
    "dates": np.datetime64("2020-01-01") + np.arange(60)[:, None],
    "empty table": pd.DataFrame(index=range(60)),
    "nullable": pd.DataFrame({"a": pd.array([None, *range(59)], dtype="Int64")}),
    "columns of one name": pd.DataFrame(np.arange(120).reshape(60, 2), columns=["a", "a"]),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_everything_that_records_hold_is_read(name):
    found = find_duplicates(Records(CONTAINERS[name], np.arange(60)), np.arange(60) % 2)
    assert (found.n_exact, found.n_queried) == (0, 30)
    assert np.isfinite(found.typical_distance)
    assert np.isfinite(found.pairs["distance"]).all()


# Limits and invariances


def test_where_most_records_have_twins_near_copies_are_not_told():
    X = np.random.default_rng(0).integers(2, size=(200, 2))
    found = find_duplicates(Records(X, np.arange(200)), np.arange(200) % 2)
    assert (found.n_exact, found.n_near, found.typical_distance) == (0, 0, 0)
    assert found.pairs["relative"].isna().all()


def test_one_record_a_side():
    found = find_duplicates(Records([[1.0], [2.0]]), [1, 0])
    assert (found.n_exact, found.n_near, found.n_queried) == (0, 0, 1)
    assert found.pairs.to_numpy().tolist() == [[1, 0, 2, 1]]


def test_nothing_is_left_to_query():
    found = find_duplicates(Records([[1.0], [1.0]]), [1, 0])
    assert (found.n_exact, found.n_near, found.n_queried) == (2, 0, 0)
    assert np.isnan(found.share_near.estimate) and np.isnan(found.typical_distance)
    assert found.share_near[1:] == (0, 1)
    assert found.pairs.empty


def test_another_order_of_the_records_gives_the_same_pairs():
    X = plant(gaussian(), noise=0.01 * gaussian(seed=1)[:N_PLANTED])
    order = np.random.default_rng(0).permutation(len(X))
    found = find_duplicates(Records(X), MEMBERSHIP)
    again = find_duplicates(Records(X[order]), MEMBERSHIP[order])
    assert (again.n_near, again.n_queried) == (found.n_near, found.n_queried)
    for side in ("nonmember", "member"):
        np.testing.assert_array_equal(order[again.pairs[side]], found.pairs[side])
    np.testing.assert_allclose(again.pairs["distance"], found.pairs["distance"])


def test_a_draw_of_queries():
    records = Records(gaussian())
    draws = [
        find_duplicates(records, MEMBERSHIP, max_queries=50, random_state=seed)
        for seed in (0, 0, 1)
    ]
    assert [draw.n_queried for draw in draws] == [50] * 3
    pd.testing.assert_frame_equal(draws[0].pairs, draws[1].pairs)
    assert not draws[0].pairs.equals(draws[2].pairs)
    assert set(draws[0].pairs["nonmember"]) <= set(np.flatnonzero(MEMBERSHIP == 0))


def test_features_are_not_changed():
    X = plant(gaussian(), noise=0.01)
    X[3, 3] = np.nan
    for given in (X, sparse.csr_array(np.nan_to_num(X)), pd.DataFrame(X)):
        before = given.copy()
        find_duplicates(Records(given), MEMBERSHIP)
        if isinstance(given, pd.DataFrame):
            pd.testing.assert_frame_equal(given, before)
        elif sparse.issparse(given):
            assert (given != before).nnz == 0
        else:
            np.testing.assert_array_equal(given, before)


def test_bad_input_is_named():
    records = Records(gaussian())
    with pytest.raises(TypeError, match="Expected skmia.Records"):
        find_duplicates(records.X, MEMBERSHIP)
    with pytest.raises(ValueError, match="no non-members"):
        find_duplicates(records, np.ones(len(records)))
    for tolerance in (0, 1, "a", np.nan):
        with pytest.raises(ValueError, match=r"tolerance must be a fraction in \(0, 1\); got"):
            find_duplicates(records, MEMBERSHIP, tolerance=tolerance)
    for number in (0, 2.5):
        with pytest.raises(ValueError, match="max_queries must be a whole number from 1 on; got"):
            find_duplicates(records, MEMBERSHIP, max_queries=number)
    with pytest.raises(ValueError, match="confidence_level"):
        find_duplicates(records, MEMBERSHIP, confidence_level=95)


def test_rows_of_people_count_as_people():
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(40), 5)
    members = rng.normal(size=(200, 6))
    copied = (np.arange(40) < 8)[people]
    others = np.where(copied[:, None], members + 1e-3, rng.normal(size=(200, 6)))
    X, membership = np.vstack([members, others]), np.repeat([1, 0], 200)
    rows = find_duplicates(Records(X), membership)
    ids = np.concatenate([people, 40 + people])
    by_person = find_duplicates(Records(X, group_by=ids), membership)
    assert rows.n_near == by_person.n_near == 40
    assert rows.share_near.estimate == by_person.share_near.estimate == 0.2
    # 8 of 40 people, which is known less well than 40 of 200 records.
    low, high = clopper_pearson(8, 40)
    assert low - 0.01 < by_person.share_near.low <= low  # a little wider, by Student's t
    assert high <= by_person.share_near.high < high + 0.01
    np.testing.assert_allclose(rows.share_near[1:], clopper_pearson(40, 200))


# The verdict


ATTACKS = {"loss": ThresholdAttack()}


def draw_coarse(rng, n):
    X = np.minimum(rng.geometric(0.45, size=(n, 5)), 5).astype(float)
    return X, (X[:, 0] + 1.5 * rng.normal(size=n) > 2).astype(int)


@few_and_many(20)
@pytest.mark.parametrize("n, n_members", slow_but([(600, 300), (1100, 100)], (600, 300)))
def test_copies_of_a_coarse_table_hide_nothing(n, n_members, n_draws):
    passed = 0
    for seed in range(n_draws):
        rng = np.random.default_rng([seed, n])
        X, y = draw_coarse(rng, n)
        membership = rng.permutation(n) < n_members
        victim = DecisionTreeClassifier(max_depth=3, random_state=0).fit(*draw_coarse(rng, 300))
        settings = {"attacks": ATTACKS, "fprs": (0.1,), "file": False, "random_state": seed}
        report = audit(victim, Records(X, y), membership, **settings)
        assert report.duplicates.n_exact > 0.1 * n
        passed += report.checks["duplicates"].status == "passed"
    # The attacks find something among the other records with a probability of .025.
    assert n_draws - passed <= most_by_chance(n_draws, 0.025)


def test_few_records_without_a_copy_are_enough_where_they_are_many():
    # A fifth of the records have no copy.
    rng = np.random.default_rng(0)
    X = np.minimum(rng.geometric(0.5, size=(3000, 5)), 5).astype(float)
    y = (X[:, 0] + 1.5 * rng.normal(size=3000) > 2).astype(int)
    membership, stranger = np.arange(2000) < 1000, DecisionTreeClassifier(max_depth=3)
    stranger.fit(X[2000:], y[2000:])
    records = Records(X[:2000], y[:2000])
    settings = {"attacks": ATTACKS, "fprs": (0.1,), "file": False, "random_state": 0}
    report = audit(stranger, records, membership, **settings)
    assert report.duplicates.n_exact > 0.5 * 2000
    assert report.checks["duplicates"].status == "passed"
    assert report.evidence == "none"


def make_copies(share):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5)).round(3)
    y = (X[:, 0] + rng.normal(size=600) > 0).astype(int)
    membership = np.arange(600) < 300
    victim = RandomForestClassifier(20, random_state=0).fit(X[membership], y[membership])
    n_copied = int(share * 300)
    X[300 : 300 + n_copied], y[300 : 300 + n_copied] = X[:n_copied], y[:n_copied]
    return victim, Records(X, y), membership


def test_copies_of_half_of_the_members_leave_a_leak_in_sight():
    settings = {"attacks": ATTACKS, "fprs": (0.1,), "file": False, "random_state": 0}
    report = audit(*make_copies(0.5), **settings)
    assert report.checks["duplicates"].is_warning
    assert report.evidence == "leak"
    assert "find members among them" in report.checks["duplicates"].text


@pytest.mark.parametrize("share, told", [(0.9, "270 of the 300"), (1.0, "the same 300 rows")])
def test_copies_of_more_are_refused(share, told):
    with pytest.raises(ValueError, match=told):
        audit(*make_copies(share), attacks=ATTACKS, fprs=(0.1,), random_state=0)


def test_near_copies_that_are_equal_but_for_the_label_are_counted():
    X = plant(gaussian(), noise=0)
    X[N_MEMBERS + N_PLANTED : N_MEMBERS + 2 * N_PLANTED] = X[N_PLANTED : 2 * N_PLANTED] + 1e-3
    y = np.zeros(len(X))
    y[N_MEMBERS:] = 1
    found = find_duplicates(Records(X, y), MEMBERSHIP)
    assert (found.n_exact, found.n_near, found.n_equal) == (0, 2 * N_PLANTED, N_PLANTED)


def make_case(X, y=None, **fields):
    membership = np.arange(len(X)) < 200
    settings = {"level": 0.95, "fprs": [0.1], "seeds": {"checks": 0}}
    return SimpleNamespace(records=Records(X, y, **fields), membership=membership, **settings)


SHARES = {
    # exact copies of 400 records; near copies of 200 non-members, those that are equal, lower end
    "exact copies of a tenth": ((40, 0, 0, 0.0), True, "passed"),
    "more exact copies, which hide a leak": ((41, 0, 0, 0.0), True, "warning"),
    "more exact copies, which hide nothing": ((41, 0, 0, 0.0), False, "passed"),
    "near copies of a tenth": ((0, 30, 0, 0.1), True, "passed"),
    "more near copies": ((0, 30, 0, 0.101), False, "warning"),
    "near copies that are equal, which hide nothing": ((0, 30, 30, 0.101), False, "passed"),
    "near copies that are equal, which hide a leak": ((0, 30, 30, 0.101), True, "warning"),
    "two thirds of them are not equal": ((0, 60, 20, 0.16), False, "warning"),
    "half of them are not equal": ((0, 60, 30, 0.16), False, "passed"),
}


@pytest.mark.parametrize("name", SHARES)
def test_a_warning_is_given_above_a_tenth(name, monkeypatch):
    (n_exact, n_near, n_equal, low), hides, status = SHARES[name]
    share = Interval(n_near / 200, low, 0.5)
    found = Duplicates(n_exact, 200, n_near, share, 1.0, 0.1, pd.DataFrame(), n_equal)
    monkeypatch.setattr(duplicates, "find_duplicates", lambda *given, **settings: found)
    monkeypatch.setattr(duplicates, "_judge_rest", lambda case, run: (hides, "text"))
    answer = duplicates.DuplicatesCheck().ask(make_case(np.arange(400.0)), None, None)
    assert answer.status == status


@pytest.mark.parametrize(
    "n_left, n_equal, pvalue, hides, words",
    [
        (50, 0, 0.026, False, "no leakage among them"),
        (50, 0, 0.024, True, "find members among them"),
        (49, 0, 0.5, True, "too few to judge"),  # less than a quarter of the members
        (200, 151, 0.5, True, "too few to judge"),  # and of the non-members
        (200, 150, 0.5, False, "no leakage among them"),
    ],
)
def test_the_records_without_a_copy_are_judged(n_left, n_equal, pvalue, hides, words, monkeypatch):
    # Equal features are copies though their labels differ.
    X = np.arange(400.0)
    X[n_left:200], X[400 - n_equal :] = -1, -2
    people, scores, seen = np.arange(400) // 2, np.random.default_rng(0).normal(size=(2, 400)), {}

    def test(members, given, **settings):
        seen.update(settings, members=members, scores=given)
        row = {"attack": "file", "metric": "auc", "max_fpr": np.nan, "pvalue_adjusted": pvalue}
        return SimpleNamespace(pvalue=pvalue, n_permutations=999, frame=pd.DataFrame([row]))

    def compare(parts, values, judged, metric, max_fpr):
        seen["compared"] = values, judged, metric
        return 0.1

    monkeypatch.setattr(duplicates, "permutation_test", test)
    monkeypatch.setattr(duplicates.ComparedParts, "compare", compare)
    tested = {"a": np.ones(400, dtype=bool)}
    run = SimpleNamespace(scores={"a": scores[0]}, tested=tested, file_scores=scores[1])
    found, text = duplicates._judge_rest(make_case(X, np.arange(400), group_by=people), run)
    assert found == hides and words in text
    if seen:
        left = X >= 0
        np.testing.assert_array_equal(seen["members"], (np.arange(400) < 200)[left])
        np.testing.assert_array_equal(seen["group_by"], people[left])
        for name, values in zip(("a", "file"), scores, strict=True):
            np.testing.assert_array_equal(seen["scores"][name], values[left])


def draw_scores(rng, n, strength, strength_of_copies):
    """Scores of 2n records of each side, of which the second half have copies."""
    membership, is_copied = np.arange(4 * n) % 2 == 0, np.arange(4 * n) >= 2 * n
    scores = rng.normal(size=4 * n) + membership * np.where(is_copied, strength_of_copies, strength)
    return scores, membership, ~is_copied


@pytest.mark.parametrize(
    "strength, of_copies, lowest, highest", [(0.5, 0.5, 0.1, 1), (0, 0, 0.1, 1), (1, 0, 0, 0.01)]
)
def test_parts_tell_whether_copies_explain_what_is_not_found(strength, of_copies, lowest, highest):
    scores, membership, rest = draw_scores(np.random.default_rng(2), 400, strength, of_copies)
    every, parts = np.ones(len(scores), dtype=bool), duplicates.ComparedParts(rest, membership, 0)
    for metric, max_fpr in (("auc", np.nan), ("tpr", 0.1)):
        share = parts.compare(scores, every, metric, max_fpr)
        assert lowest <= share <= highest, metric
    # Records that an attack does not judge take no part.
    some = np.arange(len(scores)) % 5 > 0
    wrong = np.where(some, scores, 100.0 * ~membership)
    assert lowest <= parts.compare(wrong, some, "auc", np.nan) <= highest


def test_numbers_of_parts_are_those_of_the_metrics():
    rng = np.random.default_rng(0)
    scores, membership = rng.integers(6, size=200), rng.random(200) < 0.4
    _, codes = np.unique(-scores, return_inverse=True)
    counts = [np.bincount(codes[membership == side], minlength=6) for side in (True, False)]
    found = duplicates._measure_part(*counts, "auc", np.nan)
    assert found == pytest.approx(roc_auc_score(membership, scores))
    for rate in (0.1, 0.2, 0.5):
        expected = tpr_at_fpr_score(membership, scores, max_fpr=rate)
        assert duplicates._measure_part(*counts, "tpr", rate) == pytest.approx(expected)


@pytest.mark.parametrize("reached, hides", [(0.1, True), (0.11, False)])
def test_copies_hide_nothing_where_other_records_are_found_as_well(reached, hides, monkeypatch):
    X = np.arange(400.0)
    X[150:200] = X[200:250] = -1
    scores = np.arange(400) < 200
    monkeypatch.setattr(duplicates.ComparedParts, "compare", lambda *given: reached)
    run = SimpleNamespace(scores={"a": scores}, tested={"a": np.ones(400, bool)}, file_scores=None)
    found, text = duplicates._judge_rest(make_case(X), run)
    assert found == hides
    assert ("as many as among other records" in text) == (not hides)
