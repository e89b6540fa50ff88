"""Tables whose columns have the same values and other types, and values that are seldom met."""

import json
from decimal import Decimal
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from given_table import GivesTable
from quick_audits import permute_no_table

from skmia import Records
from skmia.report._document import check_table_document
from skmia.synthetic import (
    BootstrapGenerator,
    CopyTest,
    GeneratorAttack,
    GowerEncoder,
    InferenceRisk,
    LinkabilityRisk,
    PrivacyLoss,
    SinglingOutRisk,
    SyntheticDistance,
    audit_table,
)
from skmia.synthetic._kinds import unify
from skmia.synthetic._neighbors import as_frame
from skmia.synthetic._table._audit import train_on_each
from skmia.synthetic._table._columns import unify_tables

pytestmark = pytest.mark.usefixtures("quick_tables")

N = 40


@pytest.fixture
def no_permutations(monkeypatch):
    permute_no_table(monkeypatch)


def draw(seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"a": rng.normal(size=N), "b": rng.integers(0, 9, N)})


def unify_column(*columns):
    names = ("real", "synthetic", "holdout")[: len(columns)]
    frames = [as_frame(pd.DataFrame({"x": column}), "x") for column in columns]
    tables = unify_tables(dict(zip(names, frames)))[0]
    return [table["x"] for table in unify(tables).values()]


DAYS = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N), "D")
TRUTH = np.arange(N) % 2 == 0


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.arange(N), np.arange(N, dtype=float)),
        (pd.array(np.arange(N), dtype="Int64"), np.arange(N, dtype=np.int8)),
        (pd.array([None, *range(1, N)], dtype="Int64"), [np.nan, *range(1, N)]),
        (np.arange(N), np.array(list(range(N)), dtype=object)),
        (np.arange(N) / 7, (np.arange(N) / 7).astype(np.float32)),
        (TRUTH, TRUTH.astype(int)),
        (TRUTH, pd.array(TRUTH, dtype="boolean")),
        (DAYS, DAYS.tz_localize("UTC")),
        (DAYS, DAYS.as_unit("s")),
        (DAYS, DAYS.astype(object)),
        (DAYS, DAYS.date),
        (DAYS, DAYS.to_period("D")),
        (DAYS, pd.Categorical(DAYS)),
        (TRUTH, pd.Categorical(TRUTH)),
        (np.arange(N) / 8, [Decimal(k) / 8 for k in range(N)]),
        ([None, *np.arange(1, N)], [pd.NA, *(Decimal(k) for k in range(1, N))]),
        (np.arange(N), pd.Categorical(np.arange(N))),
        (pd.Categorical(np.arange(N)), np.arange(N)),
        ([str(pd.Interval(k, k + 1)) for k in range(N)], pd.interval_range(0, N)),
        (["x", "7"] * (N // 2), ["x", 7.0] * (N // 2)),
        ([1.5, 2] * (N // 2), [Decimal("1.5"), 2] * (N // 2)),
        ([str(UUID(int=k)) for k in range(N)], [UUID(int=k) for k in range(N)]),
        ([f"({k}, 1)" for k in range(N)], [(k, 1) for k in range(N)]),
    ],
    ids=[
        "floats",
        "nullable",
        "missing",
        "objects",
        "float32",
        "truth and numbers",
        "truth",
        "zone",
        "unit",
        "dates as objects",
        "dates of databases",
        "periods",
        "categories of dates",
        "categories of truth",
        "decimal numbers",
        "decimal numbers that lack one",
        "codes in one table",
        "numbers in one table",
        "intervals",
        "numbers beside texts",
        "decimal numbers beside others",
        "universal identifiers",
        "pairs",
    ],
)
def test_equal_values_of_other_types_are_equal(first, second):
    made = unify_column(first, second)
    pd.testing.assert_series_equal(made[0], made[1], check_exact=True)


@pytest.mark.parametrize(
    "test",
    [
        CopyTest(random_state=0),
        SinglingOutRisk(n_attacks=40, random_state=0),
        LinkabilityRisk(random_state=0),
        InferenceRisk("x", random_state=0),
    ],
    ids=lambda test: type(test).__name__,
)
def test_estimators_compare_values_whose_tables_have_other_types(test):
    real, held, made = (
        pd.DataFrame({"x": table["a"] / 3, "day": DAYS[table["b"]], "is": table["b"] > 4})
        for table in map(draw, range(3))
    )
    made[:9] = real[:9].to_numpy()
    made = made.astype({"x": np.float32, "day": "datetime64[ns]", "is": bool})
    other = made.astype({"is": "boolean"}).assign(day=made["day"].dt.date)
    real = real.astype({"x": np.float32})  # the value of a copy
    expected = test.fit(real, held, made).result_
    pd.testing.assert_frame_equal(
        test.fit(real.astype({"x": float}), held, other).result_, expected, check_exact=True
    )
    assert expected.iloc[0]["train" if isinstance(test, CopyTest) else "attack"] > 0
    with pytest.raises(ValueError, match="'day' must hold values of one kind .* text in synthetic"):
        test.fit(real, held, made.astype({"day": str}))


def test_distances_from_a_generator_are_of_values_whatever_their_types():
    table = draw(0).assign(day=DAYS, truth=TRUTH)
    made = table.assign(day=DAYS.tz_localize("UTC"), truth=pd.array(TRUTH, dtype="boolean"))
    distance = SyntheticDistance(GivesTable(made), metric="gower").fit(table)
    assert (distance.predict(table) == 0).all()
    assert distance.predict(table.assign(day=DAYS[::-1])).max() > 0
    made = made.astype({"truth": str})
    with pytest.raises(ValueError, match="'truth' must hold values of one kind .* truth values in"):
        SyntheticDistance(GivesTable(made), metric="gower").fit(table).predict(table)


@pytest.mark.usefixtures("no_permutations")
def test_further_tables_of_a_generator_have_the_types_of_the_given_one(monkeypatch):
    real, made = (draw(k).assign(day=DAYS.date, b=[Decimal(n) for n in range(N)]) for k in (0, 1))
    monkeypatch.setattr("skmia.synthetic._table._audit.N_TABLES", 2)
    settings = {"held_out": draw(2).assign(day=DAYS.date), "random_state": 0}
    own = audit_table(real, made, generator=GivesTable(made).fit(real), **settings)
    made = made.astype({"b": float}).assign(day=pd.to_datetime(made["day"]))
    other = audit_table(real, made, generator=GivesTable(made).fit(real), **settings)
    pd.testing.assert_frame_equal(own.spread, other.spread, check_exact=True)


def test_distances_of_dates_from_drawn_ones_are_days():
    made = pd.DataFrame({"day": DAYS, "is": TRUTH})
    rows = pd.DataFrame({"day": [DAYS[0].date(), (DAYS[3] + pd.Timedelta(6, "h")).to_pydatetime()]})
    model = SyntheticDistance(GivesTable(made), metric="gower").fit(made)
    found = model.predict(rows.assign(**{"is": [True, False]}))
    np.testing.assert_allclose(found, [0, 0.25 / (N - 1) / 2])


def test_dates_and_durations_are_days():
    dates, other = unify_column([*DAYS[:-1], pd.NaT], DAYS)
    assert np.array_equal(np.diff(dates)[:-1], np.ones(N - 2)) and np.isnan(dates.iloc[-1])
    assert dates[0] == other[0] == 18262
    assert (
        unify_column(pd.to_timedelta(np.arange(N) * 12, "h"), [pd.Timedelta("1D")] * N)[0][3] == 1.5
    )


def test_long_integers_stay_apart_and_old_dates_are_read():
    real, made = unify_column(2**62 + np.arange(N), pd.array([None, 2**62 + 1] * (N // 2)))
    assert np.array_equal(real - made[1], np.arange(N) - 1) and np.isnan(made[0])
    real, made = unify_column([1, *[2**53] * (N - 1)], [2**53 + 1] * N)
    assert (made - real == 1)[1:].all()
    old = np.array(["0001-01-01"] * N, dtype="datetime64[s]")
    assert unify_column(old, old)[0][0] == -719162


def test_large_numbers_keep_their_ratios():
    real, made = unify_column(np.arange(N) * 1e300, -np.arange(N) * 1e305)
    assert max(abs(made)) <= 1
    assert np.allclose(real / real[1], np.arange(N)) and np.allclose(made / made[1], np.arange(N))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, (2, 3)] * (N // 2), "got numbers in real, values of several types in synthetic"),
        ([1, "a"] * (N // 2), "20 of 40 texts are no numbers: 'a' \\(20\\). Convert it in one of"),
        (
            [str(k) for k in range(N)],
            "such as numbers or text; got numbers in real, text in synthe",
        ),
        (np.ones(N) * 1j, "complex in synthetic"),
        ([[1, 2]] * N, "got numbers in real, values of the type list in synthetic"),
        (DAYS, "numbers in real, dates in synthetic"),
        (np.full(N, np.inf), "synthetic must hold finite numbers; column 'x' does not"),
    ],
    ids=["mixed", "numbers beside texts", "text", "complex", "lists", "dates", "infinite"],
)
def test_columns_that_cannot_be_compared_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        unify_column(np.arange(N), values)


def test_a_model_of_a_target_of_another_type_is_as_good():
    real, holdout, made = (
        draw(seed).assign(t=lambda table: (table["a"] > 0).astype(int)) for seed in range(3)
    )
    trained = []
    for table in (made, made.astype({"t": float})):
        tables = unify_tables({"real": real, "synthetic": table, "holdout": holdout})[0]
        tables = [unify(tables)[name] for name in ("synthetic", "real", "holdout")]
        trained.append(train_on_each(*tables, "t", 0.95, np.random.RandomState(0)))
    assert trained[0] == trained[1] and trained[0]["synthetic"] > 0.9


def make_unusual(seed):
    rng = np.random.default_rng(seed)
    return draw(seed).assign(
        whole=pd.array(rng.integers(0, 2, N), dtype="Int64"),
        truth=pd.array(rng.random(N) < 0.5, dtype="boolean"),
        empty=pd.array([None] * N, dtype="Int64"),
        date=DAYS[rng.integers(0, N, N)],
        span=pd.to_timedelta(rng.integers(0, 50, N), "h"),
        large=rng.normal(size=N) * 1e300,
    )


@pytest.mark.usefixtures("no_permutations")
def test_unusual_columns_are_audited():
    tables = [make_unusual(seed) for seed in range(3)]
    for table in tables:
        table.loc[::5, ["whole", "truth"]] = pd.NA
        table.loc[::7, "date"] = pd.NaT
    tables[0]["a is missing"] = tables[1]["a is missing"] = tables[2]["a is missing"] = 0.5
    tables[0].loc[0, "a"] = np.nan
    real, holdout, made = tables
    report = audit_table(real, made, holdout, target="date", secrets=["b"], random_state=0)
    assert report.trained["metric"] == "R2"
    check_table_document(json.loads(report.to_json()))


def test_bad_tables_and_targets():
    real, holdout, made = (draw(seed) for seed in range(3))
    with pytest.raises(ValueError, match=r"holdout needs at least 2 rows and 1 column; got shape"):
        audit_table(real, made, holdout[:1])
    with pytest.raises(ValueError, match="target='a' must not be the only column"):
        audit_table(real[["a"]], made[["a"]], holdout[["a"]], target="a")
    with pytest.raises(ValueError, match="target='b' must have values in all tables; synthetic"):
        audit_table(real, made.assign(b=np.nan), holdout, target="b")
    with pytest.raises(ValueError, match="Two columns have the name '1' as text"):
        audit_table(*(table.set_axis([1, "1"], axis=1) for table in (real, made, holdout)))


def as_polars(table):
    polars = pytest.importorskip("polars")
    return polars.DataFrame({name: table[name].to_list() for name in table})


def as_arrow(table):
    return pytest.importorskip("pyarrow").Table.from_pandas(table, preserve_index=False)


@pytest.mark.parametrize("dtype", ["string", "str", "string[pyarrow]", "category", object])
def test_a_missing_text_is_one_category_in_columns_of_any_type(dtype):
    if dtype == "string[pyarrow]":
        pytest.importorskip("pyarrow")
    table = pd.DataFrame({"a": [0.0, 1, 2, 4], "c": ["x", None, "y", None]})
    expected = GowerEncoder().fit_transform(table)
    assert expected[:, 1:].tolist() == [[0.25, 0, 0], [0, 0, 0.25], [0, 0.25, 0], [0, 0, 0.25]]
    other = table.astype({"c": dtype})
    encoders = GowerEncoder().fit(other), GowerEncoder().fit(table)
    for encoder in encoders:
        for given in (table, other, pd.concat([table[:2], other[2:]])):
            assert encoder.transform(given).tolist() == expected.tolist()


def test_categories_that_lacked_a_value_in_fit_need_not_lack_one_later():
    whole = [1, 3, 1]
    table = pd.DataFrame({"c": [*whole, None]})
    encoder = GowerEncoder(["c"]).fit(table)
    later = encoder.transform(pd.DataFrame({"c": whole}))
    assert later.tolist() == encoder.transform(table)[:3].tolist()
    assert later[0].tolist() == later[2].tolist() != later[1].tolist()


def measure_all(tables, convert_made, convert):
    """What each estimator of synthetic tables says of three tables, of any libraries."""
    makers = convert, convert, convert_made
    real, held, made = (make(table) for make, table in zip(makers, tables))
    orders = [["a", "b"], ["a", "b"], ["b", "a"]]
    numbers = [make(table[names]) for make, table, names in zip(makers, tables, orders)]
    generator = GivesTable(made).fit(real)
    report = audit_table(real, made, held, generator=generator, random_state=0)
    records = Records(numbers[0], np.zeros(N))
    attack = GeneratorAttack(Records(numbers[2], np.zeros(N)), statistic="distance").fit(records)
    losses = [
        PrivacyLoss(metric=metric, n_permutations=0).fit(*given).statistic_
        for metric, given in (("euclidean", numbers), ("gower", (real, held, made)))
    ]
    distances = [
        SyntheticDistance(GivesTable(given[2]), metric=metric)
        .fit(given[0])
        .predict(given[1])
        .tolist()
        for metric, given in (("euclidean", numbers), ("gower", (real, held, made)))
    ]
    return {
        "report": [*report.results["estimate"], *report.spread["mean"], *report.copies["train"]],
        "identifiers": report.data["identifiers"],
        "columns": [*report.columns.index],
        "copies": CopyTest(random_state=0).fit(real, held, made).result_["train"].tolist(),
        "losses": losses,
        "inference": InferenceRisk("c", random_state=0).fit(real, held, made).result_.index[0],
        "scores": attack.score_samples(records).tolist(),
        "distances": distances,
        "encoded": GowerEncoder().fit(real).transform(held).tolist(),
        "drawn": [*BootstrapGenerator().fit(real).sample(3, random_state=0).columns],
    }


@pytest.mark.usefixtures("no_permutations")
def test_tables_of_other_libraries_are_compared_as_those_of_pandas(monkeypatch):
    monkeypatch.setattr("skmia.synthetic._table._audit.N_TABLES", 2)
    rng = np.random.default_rng(5)
    real, held, made = (draw(k).assign(c=rng.choice([*"xyz"], N)) for k in range(3))
    made[:10] = real[:10].to_numpy()
    real, held, made = (
        table.assign(customer_id=rng.choice(10**9, N, replace=False))
        for table in (real, held, made)
    )
    tables = real, held, made[["c", "b", "customer_id", "a"]].astype({"a": float, "b": int})
    expected = measure_all(tables, pd.DataFrame, pd.DataFrame)
    assert expected["identifiers"] == ["customer_id"] and "c" in expected["columns"]
    assert measure_all(tables, as_polars, as_polars) == expected
    assert measure_all(tables, as_arrow, pd.DataFrame) == expected
