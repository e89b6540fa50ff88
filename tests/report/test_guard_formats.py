"""How values are written: exports of one side that are found, and tables that are left alone."""

import numpy as np
import pandas as pd
import pytest
from draws import few_and_many, most_by_chance
from refusals import check_refusal, parametrize_refusals
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier

from skmia import Records, audit
from skmia.attacks import ThresholdAttack
from skmia.report import compare_formats
from skmia.report.checks import _formats as formats
from skmia.report.checks._units import pick_draws

N = 600
CITIES = ["Rome", "Bonn", "New York", "Oslo"]


def make_table(seed=0, n=N):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "income": rng.lognormal(10, 1, n).round(4),
            "score": rng.normal(size=n),
            "age": rng.integers(18, 90, n),
            "code": np.where(rng.random(n) < 0.05, -1.0, rng.integers(1, 60, n)),
            "city": rng.choice(CITIES, n),
            "id": [f"P-{k:06d}" for k in rng.permutation(n)],
        }
    )
    return frame, rng.permutation(n) % 2


def two_decimals(frame, rows, rng):
    frame.loc[rows, "income"] = frame.loc[rows, "income"].round(2)


def single_precision(frame, rows, rng):
    frame.loc[rows, "score"] = frame.loc[rows, "score"].astype(np.float32).astype(float)


def age_in_fives(frame, rows, rng):
    frame.loc[rows, "age"] = (frame.loc[rows, "age"] / 5).round().astype(int) * 5


def converted(frame, rows, rng):
    frame.loc[rows, "income"] = frame.loc[rows, "income"] * 1.1 * 1.19 / 1.19 / 1.1


def capitals(frame, rows, rng):
    frame.loc[rows, "city"] = frame.loc[rows, "city"].str.upper()


def space_at_the_end(frame, rows, rng):
    some = rows & (rng.random(len(frame)) < 0.1)
    frame.loc[some, "city"] = frame.loc[some, "city"] + " "


def missing_for_code(frame, rows, rng):
    frame.loc[rows & (frame["code"] == -1), "code"] = np.nan


def identifiers_by_time(frame, rows, rng):
    order = np.argsort(np.argsort(rows + 0.5 * rng.random(len(frame)), kind="stable"))
    frame["id"] = [f"P-{k:06d}" for k in order]


PLANTED = {
    "two decimals for four": (
        two_decimals,
        "column income has at most 2 decimals in 100% of the members and ",
    ),
    "float32 for float64": (
        single_precision,
        "column score is a number of single precision in 100% of the members and 0% of the "
        "non-members",
    ),
    "age rounded to five": (age_in_fives, "column age is a multiple of 5 in 100% of the members"),
    "amounts converted there and back": (converted, "column income has an error of rounding in "),
    "capitals": (capitals, "column city has on average 97% capitals in the members and "),
    "a space at the end": (space_at_the_end, "column city begins or ends with a space in "),
    "missing for -1": (missing_for_code, "column code "),
    "identifiers in the order of time": (
        identifiers_by_time,
        "column id holds numbers with mean rank 0.75 in the members and 0.25 in the non-members",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_an_export_of_one_side_is_found_and_named(name):
    change, words = PLANTED[name]
    frame, membership = make_table()
    change(frame, membership == 1, np.random.default_rng(1))
    found = compare_formats(Records(frame), membership, random_state=0)
    assert found.pvalue == 1 / 2000 and found.n_permutations == 1999
    assert found.text.startswith(words)


def test_a_table_in_which_nothing_is_planted_passes():
    frame, membership = make_table()
    assert not compare_formats(Records(frame), membership, random_state=0).is_warning


def test_all_columns_together_find_what_none_of_them_shows():
    rng = np.random.default_rng(0)
    X, membership = rng.normal(size=(200, 60)).round(4), rng.permutation(200) % 2
    change = (rng.random(X.shape) < 0.06) & (membership == 1)[:, None]
    X = np.where(change, X.round(2), X)
    found = compare_formats(Records(X), membership, random_state=0)
    assert found.is_warning
    assert found.text.startswith("the average column has ")


def test_means_and_differences_are_those_of_the_table():
    X = np.array([[0.25], [1.5], [2.0], [-1.0], [np.nan], [3.125]])
    membership = np.array([1, 1, 1, 0, 0, 0])
    features = compare_formats(Records(X), membership, random_state=0).features.set_index("feature")
    assert set(features["column"]) == {"column 0"}
    expected = {
        "decimals": ([2, 1, 0], [0, 0, 3]),
        "at most 0 decimals": ([0, 0, 1], [1, 0, 0]),
        "at most 1 decimals": ([0, 1, 1], [1, 0, 0]),
        "at most 2 decimals": ([1, 1, 1], [1, 0, 0]),
        "last digit 5": ([1, 1, 0], [0, 0, 1]),
        "missing": ([0, 0, 0], [0, 1, 0]),
        "equal to -1": ([0, 0, 0], [1, 0, 0]),
        "single precision": ([1, 1, 1], [1, 0, 1]),
    }
    for kind, (members, others) in expected.items():
        row = features.loc[kind]
        assert row["members"] == pytest.approx(np.mean(members))
        assert row["nonmembers"] == pytest.approx(np.mean(others))
        difference = np.mean(members) - np.mean(others)
        assert row["difference"] == pytest.approx(difference / np.std(members + others), rel=1e-5)


def test_decimals_are_those_that_were_written():
    # The number of decimals of a float is that of its text, whatever its size and sign.
    rng = np.random.default_rng(0)
    for k in range(9):
        values = [f"{value:.{k}f}" for value in rng.normal(size=300) * 10.0 ** rng.integers(0, 5)]
        X = np.array(values, dtype=float)[:, None]
        features = compare_formats(Records(X), np.arange(300) % 2, random_state=0).features
        written = np.array(
            [len(text.rstrip("0").split(".")[1]) if "." in text else 0 for text in values]
        )
        row = features[features["feature"] == "decimals"]
        if k == 0:
            assert row.empty
        else:
            assert row["members"].item() == pytest.approx(written[1::2].mean())


@pytest.mark.parametrize("kind", [np.array, pd.DataFrame])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_decimals_are_those_of_the_precision(dtype, kind):
    X = np.tile([[0.1, 1.5], [0.25, 2.0], [0.375, 3.25]], (20, 1)).astype(dtype)
    found = compare_formats(
        Records(kind(X), np.arange(60)), np.arange(60) % 2, random_state=0
    ).features
    decimals = found[found["feature"] == "decimals"].set_index("column")["members"]
    assert decimals.to_dict() == {"column 0": 2.0, "column 1": 1.0, "the average column": 1.5}


@pytest.mark.parametrize("n_missing", [6, 10])
def test_the_p_value_is_that_of_the_exact_test(n_missing):
    # One feature varies. All missing values are on one side in so many of the permutations:
    exact = 2 * np.prod([(20 - k) / (40 - k) for k in range(n_missing)])
    X = np.where(np.arange(40) < n_missing, np.nan, 0.0)[:, None]
    membership = np.r_[np.ones(n_missing), np.zeros(20), np.ones(20 - n_missing)].astype(int)
    found = [
        compare_formats(Records(X, np.arange(40)), membership, random_state=seed)
        for seed in range(8)
    ]
    n_drawn = sum(one.n_permutations for one in found)
    pvalue = np.mean([one.pvalue for one in found])
    if n_missing == 6:  # permutations that stop after the tenth vary by a tenth
        assert n_drawn < 8 * 1999
        assert pvalue == pytest.approx(exact, abs=4 * exact * np.sqrt(0.1 / 8) + 0.1 * exact)
    else:
        assert n_drawn == 8 * 1999
        error = np.sqrt(exact / (8 * 1999))
        assert pvalue == pytest.approx(exact + 1 / 2000, abs=4 * error)


@pytest.mark.parametrize(
    "places, n_drawn, pvalue, is_warning",
    [
        (range(8), 1999, 9 / 2000, True),
        (range(9), 1999, 10 / 2000, True),  # the level itself
        ([*range(9), 1998], 1999, 10 / 1999, False),
        ([*range(9), 49], 100, 10 / 50, False),  # the tenth ends the draw, not its block
        (range(12), 100, 1.0, False),
    ],
)
def test_the_p_value_of_a_draw_that_stops(places, n_drawn, pvalue, is_warning, monkeypatch):
    reached = np.isin(np.arange(n_drawn), list(places))
    monkeypatch.setattr(formats, "_draw_permutations", lambda *given: reached)
    found = compare_formats(Records(FLAT), np.arange(N) % 2, random_state=0)
    assert (found.pvalue, found.is_warning) == (pytest.approx(pvalue, rel=1e-12), is_warning)


# What is left alone


@few_and_many(60)
def test_tables_that_were_written_alike_are_left_alone(n_draws):
    flagged = 0
    for seed in range(n_draws):
        frame, membership = make_table(seed, 100 + 10 * seed)
        if seed % 3 == 0:
            membership = membership * (np.random.default_rng(seed).random(len(frame)) < 0.2)
        flagged += compare_formats(Records(frame), membership, random_state=seed).is_warning
    assert flagged <= most_by_chance(n_draws, 0.005)


def test_the_order_of_the_records_is_not_a_feature():
    frame, membership = make_table()
    order = np.argsort(-membership, kind="stable")
    sorted_frame = Records(frame.iloc[order])
    assert not compare_formats(sorted_frame, membership[order], random_state=0).is_warning


@few_and_many(20)
@pytest.mark.parametrize("copied", ["members", "everyone"])
def test_records_that_were_copied_are_no_other_export(copied, n_draws):
    # Oversampling a side makes its values occur more often, which is not how they are written.
    flagged = 0
    for seed in range(n_draws):
        frame, membership = make_table(seed, 200)
        rows = np.repeat(np.arange(200), 5 if copied == "everyone" else 1 + 4 * membership)
        records = Records(frame.iloc[rows].reset_index(drop=True))
        flagged += compare_formats(records, membership[rows], random_state=seed).is_warning
    assert flagged == 0


def test_equal_records_of_a_coarse_table_are_no_copies():
    # Of few members, equal ones may be on one side a little more often than of many permutations.
    # To keep one of each would leave more of the frequent values on the smaller side.
    dropped = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows = np.minimum(rng.geometric(0.45, size=(550, 5)), 5) @ 6 ** np.arange(5)
        dropped += len(pick_draws(rows, rng.permutation(550) < 50)) < 550
    assert dropped <= 1
    membership = np.repeat([1, 0], [50, 500]) == 1
    copied = np.r_[np.repeat(np.arange(10), 5), np.arange(10, 510)]
    assert len(pick_draws(copied, membership)) == 510
    copied = np.r_[np.arange(50), 50 + np.repeat(np.arange(100), 5)]
    assert len(pick_draws(copied, membership)) == 150


@few_and_many(120)
def test_rows_of_people_change_sides_together(n_draws):
    # Each person exports her rows in her own way, and people were assigned to the sides at random.
    flagged = np.zeros(2)
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        people = np.repeat(np.arange(30), 10)
        decimals = rng.integers(1, 5, 30)[people]
        X = np.array([round(x, k) for x, k in zip(rng.normal(size=300), decimals)])[:, None]
        membership = (rng.permutation(30) % 2)[people]
        for place, fields in enumerate(({"group_by": people}, {})):
            found = compare_formats(Records(X, **fields), membership, random_state=seed)
            flagged[place] += found.is_warning
    assert flagged[0] <= most_by_chance(n_draws, 0.005)
    assert flagged[1] >= n_draws / 4


def test_people_of_one_record_are_records_in_any_order():
    rng = np.random.default_rng(0)
    X, membership = rng.lognormal(size=(200, 3)).round(4), rng.permutation(200) % 2
    X[membership == 1, 2] = X[membership == 1, 2].round(2)
    plain, named = (
        compare_formats(Records(X, **fields), membership, random_state=0)
        for fields in ({}, {"group_by": rng.permutation(200)})
    )
    assert named.is_warning and named.text == plain.text
    assert named.statistic == pytest.approx(plain.statistic, rel=1e-5)


# Every kind of features

FLAT = make_table()[0]["income"].to_numpy()[:, None]
WHEN = np.datetime64("2020-01-01T00:00:07") + np.arange(N)[:, None] * np.timedelta64(61, "s")


def in_frame(values):
    return pd.DataFrame({"a": values})


def make_sparse(rows):
    X = sparse.random(N, 3000, 0.01, format="csr", random_state=0)
    X.data = X.data.round(4)
    X.data = np.where(np.repeat(rows, np.diff(X.indptr)), X.data.round(1), X.data)
    return X


# A container of values, and one in which those of the rows are written in another way.
CONTAINERS = {
    "float64": lambda rows: np.where(rows[:, None], FLAT.round(1), FLAT),
    "float32": lambda rows: np.where(rows[:, None], FLAT.round(), FLAT).astype(np.float32),
    "float16": lambda rows: np.where(rows[:, None], 7, FLAT % 3).astype(np.float16),
    "longdouble": lambda rows: np.where(rows[:, None], FLAT.round(1), FLAT).astype(np.longdouble),
    "int64": lambda rows: np.where(rows[:, None], FLAT // 5 * 5, FLAT).astype(int),
    "uint8": lambda rows: np.where(rows[:, None], FLAT % 20 // 1 * 10, FLAT % 200).astype(np.uint8),
    "one column, no matrix": lambda rows: np.where(rows, FLAT[:, 0].round(1), FLAT[:, 0]),
    "texts, no matrix": lambda rows: np.array([f"a{'b' * k}" for k in rows.astype(int)]),
    "objects": lambda rows: np.where(rows[:, None], FLAT.astype("U").astype(object), FLAT),
    "categories": lambda rows: in_frame(pd.Categorical(np.where(rows, "x ", "x"))),
    "categories of numbers": lambda rows: in_frame(pd.Categorical(np.where(rows, 5, 7))),
    "times": lambda rows: np.where(rows[:, None], WHEN.astype("M8[D]"), WHEN).astype("M8[s]"),
    "times of a zone": lambda rows: in_frame(
        pd.Series(np.where(rows[:, None], WHEN.astype("M8[D]"), WHEN)[:, 0]).dt.tz_localize("CET")
    ),
    "nullable": lambda rows: in_frame(pd.array(np.where(rows, None, 1), dtype="Int64")),
    "nullable booleans": lambda rows: in_frame(pd.array(np.where(rows, None, True), "boolean")),
    "texts of pandas": lambda rows: in_frame(pd.array(np.where(rows, "Na", "is"), "string")),
    "missing of several kinds": lambda rows: np.where(rows, None, "a")[:, None],
    "sparse": make_sparse,
    "images": lambda rows: (
        np.random.default_rng(0).random((N, 8, 8, 3)).round(3)
        // np.where(rows, 0.1, 0.001)[:, None, None, None]
    ),
    "very wide": lambda rows: np.tile(np.where(rows[:, None], FLAT.round(1), FLAT), (1, 3000)),
    "columns of one name": lambda rows: pd.DataFrame(
        np.hstack([FLAT, np.where(rows[:, None], FLAT.round(1), FLAT)]), columns=["a", "a"]
    ),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_every_kind_of_values_is_read(name):
    membership = np.random.default_rng(5).permutation(N) % 2
    nobody = CONTAINERS[name](np.zeros(N, dtype=bool))
    y = np.arange(N)  # without different labels, equal values would be copies of a record
    few = {"n_permutations": 499, "random_state": 0}
    assert not compare_formats(Records(nobody, y), membership, **few).is_warning
    X = CONTAINERS[name](membership == 1)
    found = compare_formats(Records(X, y), membership, **few)
    assert found.is_warning and found.text


NOTHING = {
    "no columns": np.empty((60, 0)),
    "constant": np.full((60, 2), 0.1),
    "empty sparse": sparse.csr_array((60, 3)),
    "no number": np.full((60, 2), np.nan),
    "booleans": np.arange(60)[:, None] % [2, 3] > 0,
    "empty table": pd.DataFrame(index=range(60)),
    "boolean images": np.zeros((60, 4, 4), dtype=bool),
}


@pytest.mark.parametrize("name", NOTHING)
def test_values_without_a_form_give_no_warning(name):
    found = compare_formats(
        Records(NOTHING[name], np.arange(60)), np.arange(60) % 2, random_state=0
    )
    assert (found.pvalue, found.statistic, found.text) == (1.0, 0.0, None)
    assert found.features.empty


@pytest.mark.parametrize("values", [1.7e308, 1e-300, np.inf, -0.0])
def test_extreme_numbers_are_read(values):
    X = np.where(np.arange(60) < 30, values, 0.5)[:, None]
    found = compare_formats(Records(X, np.arange(60)), np.arange(60) % 2, random_state=0)
    assert np.isfinite(found.statistic) and not found.is_warning


def test_a_tensor_gives_what_its_array_gives():
    torch = pytest.importorskip("torch")
    membership = np.arange(N) % 2
    X = np.where(membership[:, None] == 1, FLAT.round(1), FLAT)
    found = compare_formats(Records(torch.tensor(X)), membership, random_state=0)
    assert found == compare_formats(Records(X), membership, random_state=0)


def test_real_targets_are_compared_too():
    rng = np.random.default_rng(0)
    X, membership = rng.normal(size=(N, 2)), rng.permutation(N) % 2
    y = np.where(membership == 1, FLAT[:, 0].round(1), FLAT[:, 0])
    found = compare_formats(Records(X, y), membership, random_state=0)
    assert found.text.startswith("the target has at most 1 decimal in 100% of the members and ")
    # A class that is more frequent on one side is not another way of writing it.
    classes = Records(X, np.where(membership == 1, "a", "b"))
    assert not compare_formats(classes, membership, random_state=0).is_warning


@parametrize_refusals(
    (
        lambda frame, membership: compare_formats(frame, membership, random_state=0),
        "Expected skmia.Records",
        TypeError,
    ),
    (
        lambda frame, membership: compare_formats(Records(frame), np.ones(N), random_state=0),
        "no non-members",
    ),
    (
        lambda frame, membership: compare_formats(
            Records(frame), membership, n_permutations=0, random_state=0
        ),
        "n_permutations must be",
    ),
    (
        lambda frame, membership: compare_formats(
            Records(pd.DataFrame({"a": [[k] for k in range(N)]})), membership, random_state=0
        ),
        "some hold lists",
    ),
    (
        lambda frame, membership: compare_formats(
            Records(np.ones((N, 3), dtype=int), n_tokens=np.full(N, 3)), membership, random_state=0
        ),
        "sequences of tokens",
    ),
)
def test_bad_input_is_named(call, words, error):
    frame, membership = make_table()
    check_refusal(call, words, error, frame, membership)


def test_very_many_records_are_sampled(monkeypatch):
    monkeypatch.setattr("skmia.report.checks._formats._MOST_RECORDS", 200)
    frame, membership = make_table()
    two_decimals(frame, membership == 1, None)
    found = compare_formats(Records(frame), membership, random_state=0)
    assert found.is_warning
    assert found == compare_formats(Records(frame), membership, random_state=0)


# The audit


@pytest.fixture(scope="module", params=[2, pytest.param(4, marks=pytest.mark.slow)])
def report(request):
    """A forest that was trained on neither side; the members have fewer decimals, or as many."""
    rng = np.random.default_rng(0)
    X = rng.lognormal(size=(700, 6)).round(4)
    y = (X[:, 0] > X[:, 1] * rng.lognormal(size=700)).astype(int)
    forest = RandomForestClassifier(3, random_state=0).fit(X[400:], y[400:])
    membership = rng.permutation(400) % 2
    # Without non-members of four decimals the file has no threshold at their values.
    X, y = X[:400].copy(), y[:400]
    X[membership == 0] = X[membership == 0].round(request.param)
    settings = {"attacks": {"loss": ThresholdAttack()}, "fprs": (0.1,), "random_state": 0}
    return request.param, audit(forest, Records(X, y), membership, **settings)


def test_an_export_of_one_side_is_a_shift_and_not_a_leak(report):
    n_decimals, report = report
    evidence = "shift" if n_decimals == 2 else "none"
    assert (report.checks["formats"].status == "warning") == (n_decimals == 2)
    assert report.file.evidence in (evidence, "unknown" if n_decimals == 4 else evidence)
    if n_decimals == 2:
        assert report.evidence == "shift"
        for verdict in (report.verdict, report.file.verdict):
            assert verdict.startswith("Inconclusive: members and non-members differ. Members and ")
            assert "has at most 2 decimals in " in verdict and "Export both sides" in verdict
        assert "The same decimals, spelling" in report.to_html()
