"""A declared schema: nothing about types and shapes comes from private rows."""

import datetime
import decimal
import fractions
import io
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from refusals import check_refusal, parametrize_refusals
from scipy.sparse import csr_array
from sklearn.base import clone

from skmia.defenses import DPSGDClassifier
from skmia.defenses.mechanisms import (
    GaussianMechanism,
    LaplaceMechanism,
    NonSphericalGaussianMechanism,
)
from skmia.defenses.schema import DeclaredSchema, NumberColumn, ValuesColumn
from skmia.synthetic import DPWassersteinGAN

N = 12
JOBS = ["baker", "clerk", "nurse"]
SCHEMA = DeclaredSchema(
    {
        "age": NumberColumn(18, 90, whole=True),
        "weight": NumberColumn(40, 160),
        "job": ValuesColumn([*JOBS, None]),
        "ward": ValuesColumn(["01", "02", "7"]),
        "smokes": ValuesColumn([False, True]),
    },
    classes=[0, 1],
)
TABLE = pd.DataFrame(
    {
        "age": np.arange(20, 20 + N),
        "weight": 50 + np.arange(N) / 2,
        "job": [JOBS[k % 3] for k in range(N)],
        "ward": [1 + k % 2 for k in range(N)],
        "smokes": [k % 2 == 0 for k in range(N)],
    }
)
Y = np.arange(N) % 2
NUMBERS = DeclaredSchema({name: SCHEMA.columns[name] for name in ("age", "weight")})
# Each becomes the cell of one row, in a table whose other cells stay.
CELLS = {
    "decimal": 2.5,
    "whole": 33,
    "whole as decimal": 33.0,
    "text": "someone",
    "text of a decimal": "2.5",
    "text of a whole number": " 33 ",
    "empty text": "",
    "None": None,
    "NaN": np.nan,
    "NA": pd.NA,
    "NaT": pd.NaT,
    "true": True,
    "text of true": "True",
    "inf": np.inf,
    "-inf": "-inf",
    "huge": 1e300,
    "huge whole number": 10**400,
    "text of a huge number": "1e400",
    "tiny": 1e-320,
    "negative": -1,
    "-0": -0.0,
    "date": datetime.date(2020, 2, 29),
    "timestamp": pd.Timestamp("2020-02-29 12:00", tz="UTC"),
    "day beyond what pandas takes": datetime.datetime(9999, 12, 31),
    "timedelta": pd.Timedelta("1 day"),
    "Decimal": decimal.Decimal("2.5"),
    "signaling NaN": decimal.Decimal("sNaN"),
    "fraction": fractions.Fraction(1, 3),
    "complex": 1j,
    "bytes": b"baker",
    "list": [1, 2],
    "dictionary": {"a": 1},
    "surrogate": "\ud800",
    "new category": "pilot",
    "number of one type": np.float16(2.5),
}


def with_cell(name, cell):
    table = TABLE.astype({name: object})
    table.at[3, name] = cell
    return table


def by_csv(name, cell):
    """The table as a reader guesses its types, of a file with this cell."""
    table = TABLE.astype({name: object})
    table.at[3, name] = str(cell).encode("utf-8", "replace").decode()
    return pd.read_csv(io.StringIO(table.to_csv(index=False)))


def by_concat(name, cell):
    """The table without a row, and the row."""
    row = TABLE.iloc[[3]].astype({name: object})
    row.at[3, name] = cell
    return pd.concat([TABLE.drop(3), row])


def read_others(table):
    """What the cells of all other rows say."""
    rows = np.flatnonzero(table.index != 3) if 3 in table.index else np.arange(N)
    coded, fits = SCHEMA.read_table(table)
    return coded[rows], fits[rows]


@pytest.mark.parametrize(
    "make", [with_cell, by_csv, pytest.param(by_concat, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", TABLE)
def test_no_cell_changes_what_other_cells_say(make, name):
    expected, _ = SCHEMA.read_table(TABLE)
    cells = list(CELLS.values())
    if make is by_csv:  # guesses the types of all columns alike: each cell meets every other one
        cells = cells[[*TABLE].index(name) % 3 :: 3]
    for cell in cells:
        table = make(name, cell)
        coded, fits = read_others(table)
        assert_array_equal(coded, np.delete(expected, 3, axis=0))
        assert fits.all()
        if make is with_cell:  # inputs are made of what was read
            inputs, _ = SCHEMA.encode(table)
            assert inputs.shape == (N, 1 + 1 + 4 + 3 + 2) and np.isfinite(inputs).all()


@pytest.mark.parametrize(
    "kind", [object, "category", "Int64", "Float64", "float32", "string", "int8", "uint64"]
)
def test_types_of_whole_columns_do_not_matter(kind):
    expected, _ = SCHEMA.read_table(TABLE)
    for name in ("age", "ward"):
        coded, fits = SCHEMA.read_table(TABLE.astype({name: kind}))
        assert_array_equal(coded, expected)
        assert fits.all()


def test_index_order_and_further_columns_do_not_matter():
    expected, _ = SCHEMA.read_table(TABLE)
    other = TABLE[TABLE.columns[::-1]].set_index(pd.date_range("2020", periods=N))
    assert_array_equal(SCHEMA.read_table(other.assign(new="x"))[0], expected)
    for rows in (TABLE.to_numpy(), TABLE.to_numpy().tolist()):
        assert_array_equal(SCHEMA.read_table(rows)[0], expected)
    polars = pytest.importorskip("polars")
    assert_array_equal(SCHEMA.read_table(polars.from_pandas(TABLE))[0], expected)


def test_a_column_that_is_all_missing_is_read_like_others():
    table = TABLE.assign(age=None, job=None)
    coded, fits = SCHEMA.read_table(table)
    assert not fits.any()  # an age cannot be missing
    assert (coded[:, 2] == 3).all()  # a job can
    schema = DeclaredSchema({"age": NumberColumn(18, 90, missing=30)})
    for column in (None, np.nan, pd.NA, "", "nan"):
        coded, fits = schema.read_table(TABLE.assign(age=column))
        assert fits.all() and (coded == 30).all()


@pytest.mark.parametrize(
    "cell, read",
    [(2.5, 18), (33.4, 33), ("33.4", 33), (1e300, 90), (np.inf, 90), (10**400, 90), (-1, 18)],
)
def test_numbers_are_moved_into_their_range(cell, read):
    coded, fits = SCHEMA.read_table(with_cell("age", cell))
    assert fits.all() and coded[3, 0] == read


@pytest.mark.parametrize("name, cell", [("age", "x"), ("age", None), ("job", "pilot")])
def test_rows_that_do_not_fit(name, cell):
    table = with_cell(name, cell)
    _, fits = SCHEMA.read_table(table)
    assert np.flatnonzero(~fits).tolist() == [3]
    counts = SCHEMA.count_misfits(table, np.append(Y[:-1], 9))
    assert counts.to_dict() == {**dict.fromkeys(TABLE, 0), name: 1, "classes": 1}


def test_inputs_of_a_net():
    table = TABLE[:2].assign(age=[18, 90], weight=[40, 100], job=["nurse", "pilot"])
    inputs, fits = SCHEMA.encode(table)
    assert inputs.tolist() == [
        [0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1],
        [1, 0.5, 0, 0, 0, 0, 0, 1, 0, 1, 0],
    ]
    assert fits.tolist() == [True, False]


@parametrize_refusals(
    (lambda: ValuesColumn(["1", "01"]), "'1' and '01' are read as the same"),
    (lambda: ValuesColumn([True, 1]), "are read as the same"),
    (lambda: ValuesColumn([None, np.nan]), "are read as the same"),
    (lambda: ValuesColumn("ab"), "must be a list of values; got 'ab'"),
    (lambda: ValuesColumn([]), "must be a list of values"),
    # Whose order would be another one in another process.
    (lambda: ValuesColumn({"a"}), "must be a list of values; got {'a'}"),
    (lambda: ValuesColumn(frozenset("a")), "must be a list of values; got frozenset"),
    (lambda: ValuesColumn([[1]]), "numbers, texts, truth values, dates or None"),
    (lambda: ValuesColumn(np.array([1], dtype="m8[ns]")), "numbers, texts, truth values, dates"),
    (lambda: NumberColumn(3, 2), "The range must not be empty; got 3 to 2"),
    (lambda: NumberColumn(0.2, 0.8, whole=True), "must hold a whole number"),
    (lambda: NumberColumn(0, np.inf), "upper must be"),
    (lambda: NumberColumn(0, 1, missing=2), "missing must be"),
    (lambda: DeclaredSchema({}), "must be a dictionary from names"),
    (lambda: DeclaredSchema([NumberColumn(0, 1)]), "must be a dictionary from names"),
    (lambda: DeclaredSchema({"a": (0, 1)}), r"columns\['a'\] must be a NumberColumn or"),
    (lambda: DeclaredSchema(SCHEMA.columns, classes=[1]), "two labels or more"),
    (lambda: DeclaredSchema(SCHEMA.columns, classes=[1, 2, None]), "none of them missing; got"),
    (lambda: SCHEMA.read_table(TABLE[["age"]]), "declares the column 'weight'; X has no such"),
    (lambda: SCHEMA.read_table(np.zeros((2, 3))), "the 5 columns of the schema"),
    (lambda: SCHEMA.read_table([1, 2]), "X must be a dense table of rows; got list"),
    (lambda: SCHEMA.read_table(TABLE["age"]), "X must be a dense table of rows; got Series"),
    (lambda: SCHEMA.read_table(csr_array(np.eye(5))), "must be a dense table of rows; got csr"),
    (lambda: SCHEMA.read_table([[1], [1, 2]]), "columns of the schema"),
    (lambda: SCHEMA.read_table(TABLE[:0]), "X has no rows"),
    (lambda: NUMBERS.find_classes(), "The schema has no classes"),
)
def test_what_cannot_be_declared_or_read_is_refused(call, words, error):
    check_refusal(call, words, error)


def test_a_range_may_be_one_number():
    assert NumberColumn(2, 2, whole=True).upper == 2


def test_labels_are_read_cell_by_cell():
    classes = SCHEMA.find_classes()
    for y in ([0, 1, "1", None, "x"], [0.0, True, "1.0", np.nan, 1e300]):
        for labels in (y, pd.Series(y, dtype=object), np.array(y, dtype=object)):
            assert SCHEMA.read_labels(labels, classes).tolist() == [0, 1, 1, -1, -1]


# Releases


def describe(value):
    """All that a release says but its numbers."""
    if isinstance(value, pd.DataFrame):
        found = sorted({str(cell) for cell in value.select_dtypes(["object", "string"]).stack()})
        return [type(value), value.shape, list(value.columns), list(map(str, value.dtypes)), found]
    return type(value), value.shape, value.dtype


def release_table(table, y):
    gan = DPWassersteinGAN(
        schema=SCHEMA, noise_multiplier=2.0, max_iter=1, n_critic=1, batch_size=4,
        critic_layers=(2,), generator_layers=(2,), n_latent=2,
    ).fit(table)  # fmt: skip
    made = gan.sample(300, random_state=0)
    assert set(made["job"].dropna()) <= set(JOBS)
    return [
        gan.n_features_in_, gan.feature_names_in_.tolist(), gan.epsilon_, gan.sample_rate_,
        str(gan.critic_), str(gan.generator_), describe(made)[:4], len(pickle.dumps(gan._columns)),
    ]  # fmt: skip


def release_net(table, y):
    torch, skorch = pytest.importorskip("torch"), pytest.importorskip("skorch")

    def make(n_features, n_classes):
        return skorch.NeuralNetClassifier(
            torch.nn.Linear, module__in_features=n_features, module__out_features=n_classes,
            criterion=torch.nn.CrossEntropyLoss, train_split=None, verbose=0, batch_size=-1,
            max_epochs=1,
        )  # fmt: skip

    model = DPSGDClassifier(make, noise_multiplier=4.0, schema=SCHEMA).fit(table, y)
    proba = model.predict_proba(table)
    return [
        model.n_features_in_, model.feature_names_in_.tolist(), model.classes_.tolist(),
        model.epsilon_, str(model.estimator_.module_), describe(proba), model.classes_.dtype,
    ]  # fmt: skip


def release_noise(table, y):
    found = []
    for mechanism in (LaplaceMechanism(), GaussianMechanism(), NonSphericalGaussianMechanism()):
        mechanism.set_params(schema=NUMBERS)
        found += [describe(mechanism.fit(table).transform(table)), mechanism.n_features_in_]
        found += [mechanism.feature_names_in_.tolist(), str(vars(mechanism))]
    return found


@pytest.mark.parametrize("release", [release_table, release_net, release_noise])
def test_a_cell_of_any_kind_changes_nothing_but_numbers(release, recwarn):
    pytest.importorskip("opacus")
    expected = release(TABLE, Y)
    n_warnings = len(recwarn)
    # What a cell becomes is the work of one function; the three take turns to release it.
    start = [release_table, release_net, release_noise].index(release)
    cells = list(enumerate(CELLS.items()))[start::3]
    for k, (kind, cell) in cells:
        name = TABLE.columns[k % 2 if release is release_noise else k % 5]
        make = (with_cell, by_csv, by_concat)[k // 3 % 3]
        assert release(make(name, cell), Y) == expected, kind
    assert len(recwarn) == n_warnings * (1 + len(cells))


def test_a_label_of_any_kind_changes_nothing_but_weights():
    pytest.importorskip("opacus")
    expected = release_net(TABLE, Y)
    for k, (kind, cell) in enumerate(CELLS.items()):
        labels = Y.astype(object)
        labels[3] = cell
        codes = SCHEMA.read_labels(labels, SCHEMA.find_classes())
        assert_array_equal(np.delete(codes, 3), np.delete(Y, 3), err_msg=kind)
        if k % 5 == 0:
            assert release_net(TABLE, labels) == expected, kind


def test_a_row_that_does_not_fit_contributes_nothing():
    torch, skorch = pytest.importorskip("torch"), pytest.importorskip("skorch")
    pytest.importorskip("opacus")
    seen = []
    net = skorch.NeuralNetClassifier(
        torch.nn.Linear, module__in_features=11, module__out_features=2, max_epochs=1,
        criterion=torch.nn.CrossEntropyLoss, criterion__reduction="sum", train_split=None,
        batch_size=-1, verbose=0,
    )  # fmt: skip
    for table, y in (
        (TABLE.drop(3), np.delete(Y, 3)),
        (with_cell("job", "pilot"), Y),
        (TABLE, np.where(np.arange(N) == 3, 7, Y)),
    ):
        DPSGDClassifier(
            net, noise_multiplier=0, schema=SCHEMA, random_state=0,
            on_step=lambda step, gradient, weights: seen.append(gradient),
        ).fit(table, y)  # fmt: skip
    assert_array_equal(seen[0], seen[1])
    assert_array_equal(seen[0], seen[2])


def test_with_ranges_alone_types_do_not_matter_either():
    pytest.importorskip("opacus")
    whole = pd.DataFrame({"a": np.arange(N), "b": np.arange(N) % 2 == 0})
    settings = {"noise_multiplier": 2.0, "max_iter": 1, "n_critic": 1, "critic_layers": (4,)}
    found = []
    for table in (whole, whole.assign(a=whole["a"].astype(float).replace(3, 2.5)), whole * 1.0):
        gan = DPWassersteinGAN(0, 20, **settings).fit(table)
        found.append([str(gan.critic_), describe(gan.sample(5))])
        gan.fit(table.to_numpy())
        found[-1] += [str(gan.critic_), describe(gan.sample(5))]
    assert found[0] == found[1] == found[2]


def test_a_schema_takes_the_place_of_other_declarations():
    for model, message in (
        (DPWassersteinGAN(upper=2, schema=SCHEMA, noise_multiplier=1.0), "has what upper says"),
        (DPWassersteinGAN(columns={}, schema=SCHEMA, noise_multiplier=1.0), "what columns says"),
        (DPWassersteinGAN([0, 0], schema=SCHEMA, noise_multiplier=1.0), "has what lower says"),
        (NonSphericalGaussianMechanism(lower=0, upper=1, schema=NUMBERS), "leave lower and upper"),
        (LaplaceMechanism(schema=SCHEMA), "declares 'job' as a ValuesColumn"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(TABLE)


def test_misfits_of_a_column_named_classes_are_counted_beside_those_of_labels():
    schema = DeclaredSchema({"classes": NumberColumn(0, 1)}, classes=["a", "b"])
    counts = schema.count_misfits(pd.DataFrame({"classes": ["x", 1, "y"]}), ["a", "b", "c"])
    assert counts.index.tolist() == ["classes", "classes"]
    assert counts.tolist() == [2, 1]


def test_it_is_copied_and_compared():
    assert clone(LaplaceMechanism(schema=SCHEMA)).schema == SCHEMA
    assert pickle.loads(pickle.dumps(SCHEMA)) == SCHEMA != NUMBERS


@pytest.mark.parametrize("unit", ["ns", "us", "s", "D"])
def test_dates_of_numpy_are_dates_in_each_unit(unit):
    days = np.array(["2020-02-29", "2020-03-01"], dtype=f"M8[{unit}]")
    for values in (days, ["2020-02-29", datetime.date(2020, 3, 1)]):
        schema = DeclaredSchema({"day": ValuesColumn(values)}, classes=values)
        cells = [*days[::-1], "2020-03-01", pd.Timestamp("2020-02-29"), np.datetime64("NaT", unit)]
        coded, fits = schema.read_table(pd.DataFrame({"day": pd.Series(cells, dtype=object)}))
        assert coded[:, 0].tolist() == [1, 0, 1, 0, 0] and fits.tolist() == 4 * [True] + [False]
        assert schema.read_labels(days, schema.classes).tolist() == [0, 1]
    assert ValuesColumn([*days, None])._read(pd.Series(cells, dtype=object))[0][-1] == 2


def test_labels_of_two_types_keep_their_types():
    schema = DeclaredSchema({"age": NumberColumn(0, 1)}, classes=["other", 1])
    assert schema.find_classes().tolist() == ["other", 1]


def test_values_need_not_be_texts():
    schema = DeclaredSchema({"day": ValuesColumn([datetime.date(2020, 2, 29), "2020-03-01"])})
    days = ["2020-02-29", pd.Timestamp("2020-03-01"), np.datetime64("2020-02-29"), "2020-03-02"]
    coded, fits = schema.read_table(pd.DataFrame({"day": days}, dtype=object))
    assert coded[:, 0].tolist() == [0, 1, 0, 0]
    assert fits.tolist() == [True, True, True, False]
