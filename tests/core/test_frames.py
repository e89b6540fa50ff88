"""Tables of every library reach the victim and each shadow model as they are."""

import sys
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool, audit
from skmia._core.containers import in_memory, is_foreign
from skmia.attacks import LiRA
from skmia.attacks.ranges import UnknownValues
from skmia.exceptions import TrainingError
from skmia.signals import LabelRobustness

N = 120
PLACES = ["west", "east", "north"]
Y = np.random.default_rng(1).choice(["no", "yes"], N)


def make_frame(n=N):
    rng = np.random.default_rng(0)
    holes = np.arange(n) % 7 == 0
    moments = pd.Timestamp("2020-02-03") + pd.to_timedelta(rng.integers(0, 10**6, n), unit="s")
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "small": rng.integers(0, 255, n).astype(np.uint8),
            "wage": np.where(holes, np.nan, rng.normal(size=n)),
            "half": rng.normal(size=n).astype(np.float32),
            "zero": np.where(holes, -0.0, 0.0),
            "name": np.where(holes, None, rng.choice(["Ann", "Bo", "Cé"], n)),
            "place": pd.Categorical(rng.choice(PLACES, n), PLACES),
            "flag": rng.uniform(size=n) < 0.5,
            "visits": pd.array(np.where(holes, None, rng.integers(0, 9, n)), dtype="Int64"),
            "smokes": pd.array(np.where(holes, None, rng.uniform(size=n) < 0.5), dtype="boolean"),
            "seen": moments.where(~holes),
            "there": moments.tz_localize("Europe/Berlin"),
            "stay": pd.to_timedelta(rng.integers(0, 99, n), unit="s"),
        }
    )


def as_polars(frame):
    return pytest.importorskip("polars").from_pandas(frame)


def as_arrow(frame):
    return pytest.importorskip("pyarrow").Table.from_pandas(frame, preserve_index=False)


CONVERSIONS = {"pandas": pd.DataFrame, "polars": as_polars, "arrow": as_arrow}
KINDS = pytest.mark.parametrize("kind", CONVERSIONS)
FOREIGN = pytest.mark.parametrize("kind", ["polars", "arrow"])


def convert(frame, kind):
    if kind != "pandas":
        pytest.importorskip("pyarrow")  # polars reads pandas through it
    return CONVERSIONS[kind](frame)


def list_types(X):
    """Names and types of the columns, in the words of the library itself."""
    schema = X.dtypes.items() if isinstance(X, pd.DataFrame) else X.schema
    schema = schema.items() if isinstance(schema, dict) else schema
    return [str(one) for one in schema]


class Witness(ClassifierMixin, BaseEstimator):
    """Writes down which tables it gets; predicts the share of each class."""

    def __init__(self, log=None):
        self.log = log

    def _note(self, X):
        SEEN.append((type(X), list_types(X)))
        return X

    def fit(self, X, y):
        self._note(X)
        self.classes_, counts = np.unique(y, return_counts=True)
        self.share_ = counts / len(y)
        return self

    def predict_proba(self, X):
        return np.tile(self.share_, (self._note(X).shape[0], 1))

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


SEEN = []


@KINDS
def test_every_model_gets_the_users_own_kind_of_table(kind):
    X = convert(make_frame(), kind)
    SEEN.clear()
    records = Records(X, Y)
    assert records.X is X
    pool = ShadowPool(Witness(), 4, random_state=0).fit(records)
    pool.transform(records)
    records[:10].with_outputs(Witness().fit(records[np.arange(5)].X, Y[:5]))
    assert len(SEEN) >= 4 + 1 + 1
    assert {cls for cls, _ in SEEN} == {type(X)}
    assert all(types == list_types(X) for _, types in SEEN)


@FOREIGN
def test_equal_content_has_equal_fingerprints(kind):
    frame = make_frame()
    own, other = Records(frame, Y), Records(convert(frame, kind), Y)
    np.testing.assert_array_equal(own.digests, other.digests)
    for name in frame:
        one = Records(convert(frame[[name]], kind), Y)
        np.testing.assert_array_equal(one.digests, Records(frame[[name]], Y).digests, name)
    rows = np.array([5, 0, -1, 77])
    for key in (rows, slice(3, 40), slice(None, None, -5), np.arange(N) % 3 == 0, 4):
        np.testing.assert_array_equal(other[key].digests, own[key].digests)
        np.testing.assert_array_equal(Records(other[key].X, own[key].y).digests, own[key].digests)


@FOREIGN
def test_a_type_of_numbers_and_a_value_change_the_fingerprint(kind):
    frame = make_frame()
    known = Records(convert(frame, kind), Y).fingerprint
    other_type = Records(convert(frame.assign(age=frame.age.astype("int32")), kind), Y)
    assert not np.isin(other_type.fingerprint, known).any()
    changed = frame.copy()
    changed.loc[3, "visits"] = 77
    changed = Records(convert(changed, kind), Y).fingerprint
    assert np.flatnonzero(changed != known).tolist() == [3]


@FOREIGN
def test_a_column_reads_alike_in_each_block_of_rows(kind):
    X = Records(convert(make_frame(), kind), Y)
    whole, parts = in_memory(X.X), [in_memory(X[k : k + 1].X) for k in range(0, N, 3)]
    # A column of integers is nullable where a block lacks some, and no number becomes a float.
    for name in whole:
        kinds = {part[name].dtype.kind for part in parts} | {whole[name].dtype.kind}
        assert len(kinds) == 1, name


@FOREIGN
def test_cells_that_numpy_has_no_type_for(kind):
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    cells = {
        "day": [date(2020, 1, 2), date(2021, 3, 4), None],
        "price": [Decimal("1.10"), Decimal("2.20"), Decimal("1.10")],
        "list": [[1, 2], [3], []],
        "nothing": [None, None, None],
    }
    X = pl.DataFrame(cells) if kind == "polars" else pa.table(cells)
    known = Records(pd.DataFrame({name: pd.Series(v, dtype=object) for name, v in cells.items()}))
    np.testing.assert_array_equal(Records(X).fingerprint, known.fingerprint)


@KINDS
def test_from_frame_takes_each(kind):
    frame = make_frame()[["age", "name", "place", "visits"]].assign(income=Y)
    records = Records.from_frame(
        convert(frame, kind), target="income", drop="visits", group="place", named="age"
    )
    known = Records(frame[["age", "name", "place"]], Y)
    assert type(records.X) is type(convert(frame, kind))
    np.testing.assert_array_equal(records.digests, known.digests)
    assert records["group"].tolist() == frame["place"].tolist()
    assert records["named"].dtype == np.int64
    with pytest.raises(ValueError, match="Unknown column 'wages'; the columns are age, name, pl"):
        Records.from_frame(convert(frame, kind), target="wages")


@KINDS
def test_from_frame_takes_the_columns_of_several_targets(kind):
    frame = make_frame()[["age", "small", "half"]][::-1]
    records = Records.from_frame(convert(frame, kind), target=["small", "half"])
    np.testing.assert_array_equal(records.y, frame[["small", "half"]])
    np.testing.assert_array_equal(records.digests, Records(frame[["age"]], records.y).digests)
    with pytest.raises(ValueError, match="Unknown column 'wages'"):
        Records.from_frame(convert(frame, kind), target=["half", "wages"])
    assert Records.from_frame(convert(frame, kind), target=[]).y is None
    # A list of one column is that of a column, which nets are told.
    for target, is_column in (("small", False), (["small"], True)):
        records = Records.from_frame(convert(frame, kind), target=target)
        assert (records.y.shape, records._was_column()) == ((N,), is_column)


@FOREIGN
def test_labels_and_fields_come_from_their_columns(kind):
    X = convert(make_frame().assign(label=Y, weight=1.5), kind)
    records = Records(np.zeros((N, 2)), X["label"], weight=X["weight"], place=X["place"])
    assert records.y.tolist() == Y.tolist()
    assert records["weight"].tolist() == [1.5] * N
    assert set(records["place"].tolist()) == {"west", "east", "north"}


@KINDS
def test_records_are_joined_with_names_and_types(kind):
    X = convert(make_frame(), kind)
    records = Records(X, Y)
    joined = Records.concat([records[40:], records[:40]])
    assert type(joined.X) is type(X)
    assert list_types(joined.X) == list_types(X)
    np.testing.assert_array_equal(joined.digests, records[[*range(40, N), *range(40)]].digests)
    other = convert(make_frame().rename(columns={"age": "years"}), kind)
    with pytest.raises(ValueError, match="same columns in the same order; only one has age, years"):
        Records.concat([records, Records(other, Y)])
    other = convert(make_frame().assign(age="old"), kind)
    with pytest.raises(ValueError, match="Column age cannot be joined: it holds .* in one table"):
        Records.concat([records, Records(other, Y)])


def test_a_column_of_categories_keeps_its_codes_when_a_side_lacks_some():
    one = pd.DataFrame({"place": pd.Categorical(["b", "a"], ["b", "a"])})
    other = pd.DataFrame({"place": pd.Categorical(["a", "c"], ["a", "c"])})
    X = Records.concat([Records(one), Records(other)]).X
    assert X["place"].cat.categories.tolist() == ["b", "a", "c"]
    assert X["place"].tolist() == ["b", "a", "a", "c"]


def test_tables_of_two_libraries_are_not_joined():
    frame = make_frame()
    records = Records(frame, Y), Records(convert(frame, "polars"), Y)
    with pytest.raises(ValueError, match=r"DataFrame and polars\.DataFrame\. Convert one of them"):
        Records.concat(records)


def test_columns_of_one_name_are_refused():
    pa = pytest.importorskip("pyarrow")
    table = pa.Table.from_arrays([pa.array([1, 2]), pa.array([3, 4])], names=["age", "age"])
    with pytest.raises(ValueError, match="X has columns of one name; give each its own"):
        Records(table)


def make_problem(kind, names):
    """A victim by name of column, fitted on one half of the table."""
    frame = make_frame(300)[names]
    y = np.where(frame["age"] + 30 * np.random.default_rng(2).normal(size=300) > 50, "yes", "no")
    rows, rest = np.arange(150), np.arange(150, 300)
    X = convert(frame, kind)
    return [(Records(X)[one].X, y[one]) for one in (rows, rest)]


def make_encoded(model):
    encoder = make_column_transformer((OneHotEncoder(), ["place"]), remainder="passthrough")
    return make_pipeline(encoder, model)


@pytest.mark.parametrize(
    "kind, model",
    [
        ("polars", make_encoded(DecisionTreeClassifier(random_state=0))),
        pytest.param(
            "polars",
            HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype"),
            marks=pytest.mark.slow,
        ),
        pytest.param("arrow", DecisionTreeClassifier(random_state=0), marks=pytest.mark.slow),
    ],
    ids=["transformer by name", "booster of categories", "Arrow"],
)
@pytest.mark.usefixtures("quick_audits")
def test_an_audit_says_of_each_table_what_it_says_of_pandas(kind, model):
    names = ["age", "wage", "small"] if kind == "arrow" else ["age", "half", "place"]
    pages = []
    for each in ("pandas", kind):
        train, held_out = make_problem(each, names)
        victim = clone(model).fit(*train)
        report = audit(
            victim, train=train, held_out=held_out, attacks={"LiRA": LiRA()}, shadows=4,
            random_state=0,
        )  # fmt: skip
        pages.append((report.to_frame(), report.evidence, report.file.evidence, report.notes))
        assert all(check.status != "failed" for check in report.findings.checks.values())
    pd.testing.assert_frame_equal(pages[0][0], pages[1][0])
    assert pages[0][1:] == pages[1][1:]


@FOREIGN
def test_attacks_are_searched_and_split_as_ever(kind):
    X = convert(make_frame()[["age", "half", "small"]], kind)
    records, membership = Records(X, Y), np.arange(N) % 2
    left, right = train_test_split(records, test_size=30, random_state=0)
    assert (len(left), len(right), type(right.X)) == (90, 30, type(X))
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    stored = records.with_outputs(clone(tree).fit(records[membership == 1].X, Y[membership == 1]))
    pool = FrozenEstimator(ShadowPool(tree, 8, random_state=0).fit(stored))
    grid = {"variance": ["pooled", "example"]}
    search = GridSearchCV(LiRA(shadows=pool), grid, scoring="roc_auc", cv=2)
    assert 0 < search.fit(stored, membership).best_score_ <= 1


@FOREIGN
def test_attacks_that_change_values_say_how_to_convert(kind):
    records = Records(convert(make_frame()[["age", "half"]], kind), Y)
    model = DecisionTreeClassifier(random_state=0).fit(records.X, Y)
    said = r"changes values of records, in arrays and pandas tables; got .*to_pandas\(\), y\)"
    with pytest.raises(ValueError, match=said):
        LabelRobustness().of(model, records)
    with pytest.raises(ValueError, match=said):
        UnknownValues(["age"], population=records)(records, np.random.RandomState(0))


def test_text_that_a_model_cannot_take_is_named_by_its_column():
    X = convert(make_frame()[["age", "name"]], "polars")
    with pytest.raises(TrainingError, match="column 'name' of X holds text such as"):
        ShadowPool(LogisticRegression(), 2, random_state=0).fit(Records(X, Y))


def make_lazy(name):
    frame = make_frame()[["age", "half"]]
    if name == "batch":
        return as_arrow(frame).to_batches()[0]
    return pytest.importorskip("pyarrow.dataset").dataset(as_arrow(frame)).scanner()


LAZY = {
    "batch": r"a pyarrow RecordBatch, .* give pyarrow\.Table\.from_batches\(\[X\]\)",
    "scanner": r"a pyarrow Scanner, which is not read as it is; give X\.to_table\(\)",
}


@pytest.mark.parametrize("name", LAZY)
@pytest.mark.parametrize("make", [Records, Records.from_frame])
def test_tables_that_are_not_in_memory_are_refused(name, make):
    with pytest.raises(TypeError, match=LAZY[name]):
        make(make_lazy(name))


def test_narwhals_own_tables_are_unwrapped():
    nw = pytest.importorskip("narwhals")
    frame = make_frame()
    assert Records(nw.from_native(frame)).X is frame
    assert not is_foreign(Records(nw.from_native(frame)).X)


def test_arrays_do_not_load_narwhals(monkeypatch):
    monkeypatch.setitem(sys.modules, "narwhals.stable.v2", None)  # an import would fail
    records = Records(np.eye(4), [0, 1, 0, 1])
    assert len(Records.concat([records[:2], records[[3]]]).fingerprint) == 3
    assert len(Records(pd.DataFrame(np.eye(4)))[1:]) == 3
