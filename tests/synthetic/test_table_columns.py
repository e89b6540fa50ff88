"""Columns of a table: identifiers, values in another form, and values that do not fit."""

import re
import uuid

import numpy as np
import pandas as pd
import pytest
from quick_audits import permute_no_table

from skmia.report import recommend_release
from skmia.synthetic import audit_table
from skmia.synthetic._cells import TableCells
from skmia.synthetic._table import _audit, _columns
from skmia.synthetic._table._columns import count_copied_identifiers, find_identifiers, fit_columns
from skmia.synthetic._table._measure import find_rare_texts

pytestmark = pytest.mark.usefixtures("quick_tables")

N = 100


def number(rng, *size):
    return rng.integers(0, 2**62, size)


def name_uuids(rng):
    return [str(uuid.UUID(int=int(a) << 64 | int(b))) for a, b in number(rng, N, 2)]


COUNTED, CODES = "numbers that count rows", "codes"


@pytest.mark.parametrize(
    ("name", "make", "expected"),
    [
        ("x", lambda rng: rng.permutation(2 * N)[:N], COUNTED),
        ("x", lambda rng: rng.permutation(300)[:N].astype(float), COUNTED),
        ("PatientID", lambda rng: rng.choice(10**7, N, replace=False), COUNTED),
        ("x", name_uuids, CODES),
        ("x", lambda rng: [f"{k:016x}" for k in number(rng, N)], CODES),
        ("x", lambda rng: [f"P-{k:05d}" for k in range(N)], CODES),
        ("x", lambda rng: [f"{k:09d}" for k in rng.choice(10**9 // 2, N, replace=False)], CODES),
        (
            "x",
            lambda rng: [f"{'ab'[k % 2]} {'c' * k}" for k in range(N)],
            "texts that never repeat",
        ),
        (
            "created_at",
            lambda rng: pd.Timestamp("2020") + pd.to_timedelta(rng.permutation(10**6)[:N], "s"),
            "times of creation",
        ),
        # None of these names rows.
        ("income", lambda rng: np.exp(rng.normal(10, 1, N)).round(2), None),
        ("income", lambda rng: np.exp(rng.normal(10, 1, N)).round(), None),
        ("glucose", lambda rng: rng.normal(size=N), None),
        ("zip", lambda rng: [f"{k:05d}" for k in rng.permutation(10**5)[:N]], None),
        ("household_id", lambda rng: np.arange(N) // 4, None),
        ("age", lambda rng: rng.integers(18, 90, N), None),
        ("born", lambda rng: pd.Timestamp("1950") + pd.to_timedelta(rng.permutation(N), "D"), None),
        ("state", lambda rng: rng.choice(["CA", "NY"], N), None),
        ("weight", lambda rng: [f"{k:.3f}" for k in rng.normal(70, 9, N)], None),
        ("flag", lambda rng: rng.random(N) < 0.5, None),
    ],
)
def test_which_columns_are_identifiers(name, make, expected):
    rng = np.random.default_rng(0)
    if name == "born" and expected is None:
        values = pd.Series(make(rng)).sample(frac=1, random_state=0).to_numpy()
    else:
        values = make(rng)
    frame = pd.DataFrame({name: values})
    assert find_identifiers({"real": frame, "synthetic": frame}).get(name) == expected


def test_the_training_table_says_what_the_identifiers_of_two_tables_are():
    codes, numbers = [f"A{k:04}abc9" for k in range(300)], [str(k) for k in range(300)]
    tables = [pd.DataFrame({"z": values}) for values in (codes, numbers)]
    for real, holdout, words in ((*tables, "codes"), (*tables[::-1], "numbers that count rows")):
        assert find_identifiers({"real": real, "holdout": holdout}) == {"z": words}


def fit_column(real, made, held=None):
    tables = {"real": real, "synthetic": made, "holdout": real if held is None else held}
    tables = {name: pd.DataFrame({"x": column}) for name, column in tables.items()}
    return fit_columns(tables)


WORDS = ["Private", "State gov", "Self"] * 10
DAYS = pd.Series(pd.Timestamp("2020-01-20") + pd.to_timedelta(np.arange(30), "D"))
TRUTH = np.arange(30) % 3 == 0


@pytest.mark.parametrize(
    ("real", "made", "words"),
    [
        ([f" {word}" for word in WORDS], WORDS, "'Private' for ' Private'"),
        (WORDS, [word.upper() for word in WORDS], "in lower case, as 'PRIVATE' for 'Private'"),
        (["1.0", "2.50", "x"] * 10, ["1", "2.5", "x"] * 10, "as numbers, as '1' for '1.0'"),
        (np.arange(30) % 7, (np.arange(30) % 7).astype(str), "numbers are text in the synthetic"),
        (np.arange(30) * 500.5, [f"{k * 500.5:,.2f}" for k in range(30)], "numbers are text"),
        (["02139", "10001"] * 15, [2139, 10001] * 15, "codes of 5 digits are numbers"),
        (TRUTH, np.where(TRUTH, "True", "False"), "truth values are text"),
        (DAYS, DAYS.dt.strftime("%d/%m/%Y"), "dates are text in the synthetic table"),
        (DAYS.dt.strftime("%Y-%m-%d"), DAYS.dt.strftime("%d.%m.%Y"), "texts of dates"),
        (DAYS.dt.strftime("%d/%m/%Y"), DAYS.dt.strftime("%Y%m%d"), "texts of dates"),
        (DAYS.dt.strftime("%Y-%m-%d"), DAYS.dt.strftime("%Y-%m-%dT%H:%M:%SZ"), "texts of dates"),
        (DAYS.dt.strftime("%b %d, %Y"), DAYS.dt.strftime("%Y-%m-%d %H:%M:%S+00:00"), "of dates"),
        (DAYS.dt.strftime("%Y-%m-%d"), DAYS.dt.strftime("%d/%m/%y"), "texts of dates"),
    ],
)
def test_values_in_another_form_become_equal(real, made, words):
    tables, fit = fit_column(real, made)
    assert tables["real"]["x"].astype(object).tolist() == tables["synthetic"]["x"].tolist()
    assert len(fit.changed) == 1 and words in fit.changed[0] and not fit.unfit


@pytest.mark.parametrize(
    ("real", "made", "words"),
    [
        (["a", None, "b"] * 10, ["a", "", "b"] * 10, "'' in the synthetic table: read as missing"),
        (["a", "NA", "b"] * 10, ["a", None, "b"] * 10, "'NA' in the training table, 'NA' in"),
        ([1.5, None, 2.5] * 10, ["1.5", "nan", "2.5"] * 10, "read as missing; numbers are text in"),
    ],
)
def test_texts_for_missing_values_are_missing(real, made, words):
    tables, fit = fit_column(real, made)
    pd.testing.assert_series_equal(tables["real"]["x"], tables["synthetic"]["x"], check_exact=True)
    assert tables["real"]["x"].isna().sum() == 10
    assert len(fit.changed) == 1 and words in fit.changed[0] and not fit.unfit
    # A text that the other table has beside missing values, or that stands beside them, is a value.
    cases = (["a", None, "NA"], ["a", "b", "NA"]), (["a", "b", None], ["a", None, "NA"])
    for own, other in cases:
        tables, fit = fit_column(own * 20, other * 20)
        assert "NA" in set(tables["synthetic"]["x"]) and not fit.changed


def test_a_form_that_makes_values_of_one_table_equal_is_not_taken():
    tables, fit = fit_column(["a", "A", "b"] * 10, ["a", "B", "b"] * 10)
    assert tables["real"]["x"].nunique() == 3 and not fit.changed
    # Days and months cannot be told apart.
    dates = pd.Series([f"0{k}/0{m}/2020" for k in range(1, 10) for m in range(1, 4)])
    assert fit_column(DAYS[:27], dates)[0]["synthetic"]["x"].dtype == dates.dtype


@pytest.mark.parametrize(
    "made",
    [
        [str(18_262 + k) for k in range(30)],  # days since 1970
        [f"0{k % 9 + 1}/0{k % 3 + 1}/2020" for k in range(30)],
    ],
)
def test_dates_that_rarely_repeat_and_that_no_synthetic_value_is_are_left_out(made):
    real = DAYS.dt.strftime("%Y-%m-%d")
    fit = fit_column(real, made)[1]
    assert fit.left_out == ["x"] and "none of the values" in fit.unfit[0]
    assert fit_column(made, real)[1].left_out == ["x"]
    assert fit_column(real, [f"0{k % 9 + 1}/0{k % 3 + 1}/20" for k in range(30)])[1].left_out
    # Other dates of one form are dates, and words may be new.
    assert not fit_column(real, (DAYS + pd.Timedelta("999D")).dt.strftime("%Y-%m-%d"))[1].unfit
    assert not fit_column([f"a{k}" for k in range(30)], [f"b{k}" for k in range(30)])[1].unfit


@pytest.mark.parametrize("decimals, words", [(0, "whole numbers"), (1, "1 dec"), (-2, "of 100")])
def test_numbers_are_compared_at_the_decimals_of_the_coarsest_table(decimals, words):
    real = np.random.default_rng(0).normal(5000, 2000, 300).round(3)
    tables, fit = fit_column(real, real.round(decimals))
    assert (tables["real"]["x"] == real.round(decimals)).all() and words in fit.changed[0]
    # Also where they went through single precision.
    single = real.round(2).astype(np.float32).astype(float)
    tables, fit = fit_column(real.round(2), single)
    assert (tables["synthetic"]["x"] == real.round(2)).all() and "2 decimals" in fit.changed[0]
    assert not fit_column(real.round(2), real.round(2))[1].changed


@pytest.mark.parametrize(
    ("real", "made", "words"),
    [
        (["R01", "R02"] * 30, ["north", "south"] * 30, "none of the values of the synthetic"),
        (["R01", "R02"] * 30, ["R01", "Q", "Q"] * 20, "67% of the rows of the synthetic table"),
        ([*range(9), None] * 27, [*range(9), -1] * 27, "10% of the real values are missing"),
        ([*range(9), None] * 27, [*range(9), -1] * 27, "synthetic ones, where -1 may stand"),
        (["a", "b"] * 30, ["a", None] * 30, "50% of the synthetic values are missing"),
        ([None] * 30 + [1] * 9970, [1] * 10_000, "0.3% of the real values are missing and none of"),
        (
            ["R01", "R02", None] * 30,
            ["x", "y", "y"] * 30,
            "synthetic ones; none of the values",
        ),
        ([1.0, 2.0, None] * 30, [8.0, 9.0, 9.0] * 30, "synthetic ones; the numbers of"),
        (["a", "b"] * 30, pd.array([None] * 60, "str"), "100% of the synthetic .* real ones$"),
        (np.arange(60) % 9, 100 + np.arange(60) % 9, "from 100 to 108 and the real ones from 0"),
    ],
)
def test_values_that_do_not_fit_are_named(real, made, words):
    fit = fit_column(real, made)[1]
    assert len(fit.unfit) == 1 and fit.unfit[0].startswith("column 'x'")
    assert re.search(words, fit.unfit[0])
    assert fit.left_out == (["x"] if "none of the values of" in fit.unfit[0] else [])


def test_names_that_seldom_repeat_need_not_fit():
    rng = np.random.default_rng(0)
    names = [rng.choice([f"a{k}" for k in range(2000)], 300) for _ in range(3)]
    assert not fit_column(*names)[1].unfit


def draw(rng, n=150):
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "work": rng.choice(["private", "state"], n),
            "income": np.exp(rng.normal(10, 0.7, n)).round(2),
        }
    )


@pytest.fixture
def no_permutations(monkeypatch):
    permute_no_table(monkeypatch)


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(1)
    real, held, made = (draw(rng) for _ in range(3))
    return real, pd.concat([real[:15], made[15:]], ignore_index=True), held


@pytest.mark.usefixtures("no_permutations")
def test_copies_with_new_identifiers_are_found(tables):
    real, made, held = tables
    named = [
        table.assign(key=[f"{prefix}{k:04d}" for k in range(len(table))])
        for table, prefix in zip(tables, ("P", "S", "Q"))
    ]
    report = audit_table(*named, random_state=0)
    assert report.unchanged["train"] == 15 and report.data["identifiers"] == ["key"]
    assert "'key' (codes)" in report.notes[0]

    def read(tables, identifiers="auto"):
        columns, _ = _audit._read_given_tables(*tables, None, identifiers)
        return columns.tables.values(), list(columns.identifiers)

    # A generator that has no identifiers, and an index that only its table has.
    for odd in (named, (named[0], made, named[2]), (real, named[1], held)):
        compared, left_out = read(odd)
        assert left_out == ["key"]
        for found, plain in zip(compared, read(tables)[0], strict=True):
            pd.testing.assert_frame_equal(found, plain, check_exact=True)
    kept, left_out = read(named, identifiers=[])
    assert left_out == [] and all("key" in table for table in kept)


@pytest.mark.usefixtures("no_permutations")
def test_identifiers_that_are_copied_are_a_leak(tables):
    real, _, held = tables
    rng = np.random.default_rng(2)
    keys = [f"{k:016x}" for k in number(rng, 300)]
    made = draw(rng).assign(key=keys[:6] + [f"{k:016x}" for k in number(rng, 144)])
    real, held = real.assign(key=keys[:150]), held.assign(key=keys[150:])
    report = audit_table(real, made, held, random_state=0)
    row = report.results.loc["copied identifiers"]
    assert report.evidence == "leak" and row["attack"] == pytest.approx(6 / 150)
    assert report.level.name == "clear" and "\n  copied identifiers  " in report.summary()
    check = report.checks["identifiers"]
    assert check["status"] == "warning" and "of 6 of 150 training rows and of 0" in check["text"]
    assert report.checks["columns fit"]["status"] == "passed"
    alone = audit_table(real, made, random_state=0).checks["identifiers"]
    assert alone["text"].endswith("has the identifiers of 6 of 150 training rows.")
    for policy in ("cautious", "research", "anonymity"):
        found = recommend_release(report, policy=policy)
        assert found.result == "do not release", policy
        assert found.reasons[0].startswith("copied_identifiers (all): 0.04 ")


@pytest.mark.parametrize(
    ("write", "rewrite"),
    [
        (int, float),
        (int, str),
        (int, lambda key: f"{key:012d}"),
        (lambda key: f"{key:012d}", float),
        (lambda key: f"AB-{key}", lambda key: f" ab-{key}"),
        (lambda key: pd.Timestamp(key, unit="s"), lambda key: f"{pd.Timestamp(key, unit='s')}"),
    ],
)
@pytest.mark.parametrize("held", [range(100, 120), [None]])
def test_identifiers_are_copies_however_they_are_written(write, rewrite, held):
    keys = {"real": range(100), "synthetic": range(90, 110), "holdout": held}
    keys = {
        name: [None if key is None else 10**7 + 7 * key for key in part]
        for name, part in keys.items()
    }
    tables = {}
    for name, part in keys.items():
        spell = rewrite if name == "synthetic" else write
        tables[name] = pd.DataFrame({"ssn": [None if k is None else spell(k) for k in part]})
    tables["synthetic"].loc[0, "ssn"] = None  # so that whole numbers are floats
    found = count_copied_identifiers(tables, "ssn")
    assert found["real"].tolist() == [False] * 91 + [True] * 9
    assert found["holdout"].tolist() == [key in range(91, 110) for key in held]


@pytest.mark.usefixtures("no_permutations")
def test_columns_that_do_not_fit_are_left_out_of_copies_and_named(tables):
    real, made, held = tables
    other = made.assign(work=made["work"].map({"private": "x1", "state": "x2"}))
    report = audit_table(real, other, held, random_state=0)
    assert report.unchanged["train"] == 15 and report.evidence == "leak"
    check = report.checks["columns fit"]
    assert check["status"] == "warning" and "column 'work': none" in check["text"].lower()
    assert "Columns of the tables do not fit" in " ".join(report.summary().split())
    assert "inference of work" not in report.results.index and "work" in report.columns.index


def test_bad_identifiers(tables):
    with pytest.raises(ValueError, match="identifiers: 'x' is not a column of the tables; avail"):
        audit_table(*tables, identifiers=["x"])
    with pytest.raises(ValueError, match="identifiers must be 'auto' or a sequence of columns"):
        audit_table(*tables, identifiers="age")
    ids = [pd.DataFrame({"key": [f"K{k:05d}" for k in range(N)]})] * 3
    with pytest.raises(ValueError, match="All columns are identifiers, such as 'key'"):
        audit_table(*ids)
    renamed = tables[1].rename(columns={"age": " Age"})
    with pytest.raises(ValueError, match="lacks the column 'age' of real; it has ' Age': rename"):
        audit_table(tables[0], renamed, tables[2])


def test_names_of_one_spelling_are_not_spelled_and_counted_again(monkeypatch):
    counted = []
    monkeypatch.setattr(_columns, "_count_known", lambda parts: counted.append(parts) or 0)
    wholes = {"real": pd.Series([7, 8, 900]), "holdout": pd.Series([7.0, np.nan, 3.0])}
    found = _columns.spell_identifiers(wholes)
    assert [names.tolist() for names in found.values()] == [["7", "8", "900"], ["7", None, "3"]]
    assert not counted
    texts = {"real": pd.Series(["ab-1", "ab-2"]), "holdout": pd.Series(["ab-2", "ab-3"])}
    found = _columns.spell_identifiers(texts)
    assert [names.tolist() for names in found.values()] == [["ab-1", "ab-2"], ["ab-2", "ab-3"]]
    assert len(counted) == 1


@pytest.mark.usefixtures("no_permutations")
def test_texts_of_single_rows_are_found_in_the_synthetic_table(tables):
    real, held, made = (
        pd.DataFrame({"x": x, "job": job})
        for x, job in (
            ([1.5, 2.5, 3.5, 4.5], ["mayor", "nurse", "judge", None]),
            ([5.5, 6.5, 7.5], ["nurse", "pilot", "mayors"]),
            ([1.5, 5.5, 6.5], ["mayor", "nurse", None]),
        )
    )

    def find(persons):
        cells = TableCells((real, held, made), ("real", "holdout", "synthetic"))
        return find_rare_texts(cells, persons).tolist()

    assert find(None) == [True] + [False] * 6  # there are two nurses
    # Two rows of one person: she alone is a nurse.
    held.loc[0, "job"], real.loc[2, "job"] = "cook", "nurse"
    assert find(None) == [True] + [False] * 6
    persons = np.array([0, 11, 11, 2]), np.arange(3)
    assert find(persons) == [True] * 3 + [False] * 4

    real, made, held = (table.assign(job="clerk") for table in tables)
    for table, kind in ((real, "own"), (held, "held"), (made, "own")):
        table.loc[60:73, "job"] = [f"{kind} {k % 7}{'ab'[k // 7]}" for k in range(14)]
    made[["age", "work", "income"]] = draw(np.random.default_rng(3))
    report = audit_table(real, made, held, random_state=0)
    row = report.results.loc["singling out, rare texts"]
    assert report.evidence == "leak" and row["pvalue"] == pytest.approx(2**-14)
    assert (row["attack"], row["control"]) == (14 / 150, 0)
    assert "singling out, rare texts" in report.verdict
