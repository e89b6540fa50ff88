"""Mixed tables in and out of the private generator."""

import pickle

import numpy as np
import pandas as pd
import pytest
from by_hand import tell_refusal
from numpy.testing import assert_array_equal
from sklearn.base import clone

from skmia.defenses.schema import DeclaredSchema, NumberColumn, ValuesColumn
from skmia.synthetic import DPWassersteinGAN

pytest.importorskip("torch")
pytest.importorskip("opacus")

QUICK = {"max_iter": 2, "n_critic": 2, "batch_size": 20, "critic_layers": (5,), "random_state": 0}
RNG = np.random.default_rng(0)
N = 80
JOBS = ["baker", "clerk", "nurse", "pilot"]
TABLE = pd.DataFrame(
    {
        "job": pd.Categorical(RNG.choice(JOBS[:3], N), JOBS),
        "age": RNG.integers(18, 90, N).astype("int32"),
        "weight": RNG.normal(70, 9, N).clip(40, 120).astype("float32"),
        "visits": pd.array(RNG.integers(0, 5, N), dtype="Int64"),
        "smokes": RNG.random(N) < 0.3,
        "city": RNG.choice(["Oslo", "Rome"], N),
        "salary": RNG.integers(0, 10_000, N),
        "ward": RNG.choice([1.5, 2.5], N),
    },
    index=np.arange(N) + 100,
)
LOWER = {"age": 18, "weight": 40, "visits": 0, "salary": 0}
UPPER = {"age": 89, "weight": 120, "visits": 4, "salary": 10_000}
COLUMNS = {"job": JOBS, "city": ["Oslo", "Rome", "Bern"], "ward": [1.5, 2.5]}
COLUMNS["smokes"] = [False, True]
SCHEMA = DeclaredSchema(
    {
        "job": ValuesColumn(JOBS),
        "age": NumberColumn(18, 89, whole=True),
        "weight": NumberColumn(40, 120),
        "visits": NumberColumn(0, 4, whole=True),
        "smokes": ValuesColumn([False, True]),
        "city": ValuesColumn(["Oslo", "Rome", "Bern"]),
        "salary": NumberColumn(0, 10_000, whole=True),
        "ward": ValuesColumn([1.5, 2.5]),
    }
)
SETTINGS = {"lower": LOWER, "upper": UPPER, "columns": COLUMNS, **QUICK}


def values_of(table):
    return {name: set(table[name].dropna().tolist()) for name in table}


@pytest.mark.parametrize(
    "settings",
    [{"schema": SCHEMA, "noise_multiplier": 1.0, **QUICK}, {"privacy": None, **SETTINGS}],
)
def test_a_mixed_table_comes_back_with_its_types_and_values(settings):
    gan = DPWassersteinGAN(**settings).fit(TABLE)
    made = gan.sample(400, random_state=0)
    assert list(made.columns) == list(TABLE.columns)
    if gan.privacy is None:
        assert_array_equal(made.dtypes, TABLE.dtypes)
    else:
        text = pd.Index(JOBS).dtype
        assert list(made.dtypes) == [text, "int64", float, "int64", bool, text, "int64", float]
    found = values_of(made)
    assert found["job"] <= set(JOBS) and found["city"] <= {"Oslo", "Rome", "Bern"}
    assert found["ward"] == {1.5, 2.5} and found["smokes"] == {False, True}
    assert found["visits"] <= set(range(5)) and len(found["age"]) > 30
    assert made["weight"].between(40, 120).all() and made["salary"].between(0, 10_000).all()
    assert made.equals(gan.sample(400, random_state=0))
    assert not made.equals(gan.sample(400))


def test_the_rule_of_auto():
    gan = DPWassersteinGAN(**SETTINGS, privacy=None).fit(TABLE)
    # Four jobs, 72 ages, a number, five visits, two truth values, three cities, salaries of a range
    # of more than 128 whole numbers, two wards.
    assert gan.generator_[-1].out_features == 4 + 72 + 1 + 5 + 2 + 3 + 1 + 2
    assert gan.critic_[0].in_features == 4 + 72 + 1 + 5 + 2 + 3 + 1 + 2
    whole = TABLE[["age", "visits"]].astype(int).to_numpy()
    for columns, width in (("auto", 72 + 5), ("number", 2), ({0: "number"}, 1 + 5)):
        gan = DPWassersteinGAN([18, 0], [89, 4], columns=columns, privacy=None, **QUICK)
        assert gan.fit(whole).critic_[0].in_features == width
        assert gan.sample(5).dtype == whole.dtype
        assert gan.fit(whole.astype(float)).critic_[0].in_features == 2
        assert gan.sample(5).dtype == float


def test_truth_values_as_numbers_are_rounded():
    table = pd.DataFrame({"a": np.arange(40) % 2 == 0, "b": np.arange(40.0) / 40})
    gan = DPWassersteinGAN(columns="number", privacy=None, **QUICK).fit(table)
    assert 0.1 < gan.sample(500, random_state=0)["a"].mean() < 0.9


def test_limits_of_the_rule_of_auto():
    X = np.array([[0, 0]])
    gan = DPWassersteinGAN(0, [127, 128], privacy=None, **QUICK).fit(X)
    assert gan.critic_[0].in_features == 128 + 1


def test_values_of_an_array_are_named_by_place():
    X = RNG.choice([0.25, 0.5, 2.0], size=(50, 2))
    gan = DPWassersteinGAN(columns={1: [0.25, 0.5, 2.0]}, upper=2.0, privacy=None, **QUICK).fit(X)
    made = gan.sample(100)
    assert set(made[:, 1]) <= {0.25, 0.5, 2.0} and len(set(made[:, 0])) > 3


def test_without_noise_values_are_read_off_the_table():
    table = TABLE[["job", "city"]]
    gan = DPWassersteinGAN(privacy=None, **QUICK).fit(table)
    made = gan.sample(200)
    assert_array_equal(made.dtypes, table.dtypes)
    assert gan.critic_[0].in_features == 4 + 2  # all categories of the type
    names = pd.DataFrame({"name": [f"person {k}" for k in range(200)]})
    with pytest.raises(ValueError, match="Column 'name' has 200 values; drop it, or name"):
        DPWassersteinGAN(privacy=None, **QUICK).fit(names)


@pytest.mark.parametrize("column", ["job", "city"])
def test_columns_of_numbers_have_no_texts(column):
    gan = DPWassersteinGAN(columns="number", privacy=None, **QUICK)
    with pytest.raises(ValueError, match="X must hold numbers; it has strings"):
        gan.fit(TABLE[[column]])


@pytest.mark.parametrize("column", ["job", "city"])
def test_with_noise_values_have_to_be_named(column):
    with pytest.raises(ValueError, match="Name all that it can have in columns, from public"):
        DPWassersteinGAN(noise_multiplier=1.0, **QUICK).fit(TABLE[[column]])


def test_categories_that_were_read_off_the_rows_do_not_come_back():
    gan = DPWassersteinGAN(noise_multiplier=1.0, **QUICK)
    gan.set_params(columns={"city": COLUMNS["city"]})
    for kind in ("category", object):  # has the categories Oslo and Rome
        made = gan.fit(TABLE[["city"]].astype(kind)).sample(100)
        assert made["city"].dtype == pd.Index(COLUMNS["city"]).dtype


def test_categories_that_were_read_off_the_rows_are_not_kept():
    table = pd.DataFrame({"ward": [0.25, 0.5, 0.123456] * 5}).astype("category")
    gan = DPWassersteinGAN(noise_multiplier=1.0, **QUICK).fit(table)  # a column of numbers
    assert gan.sample(5).dtypes.iloc[0].kind == "f"
    assert not any(isinstance(dtype, pd.CategoricalDtype) for dtype in gan._columns._dtypes)


@pytest.mark.parametrize("kind", ["category", object])
def test_missing_values_are_a_value_of_their_own(kind):
    table = pd.DataFrame({"a": ["x", None, "y", "x"] * 10}).astype(kind)
    for settings in (
        {"privacy": None},
        {"noise_multiplier": 1.0, "columns": {"a": ["x", "y", None]}},
    ):
        made = DPWassersteinGAN(**settings, **QUICK).fit(table).sample(200, random_state=0)
        assert made["a"].isna().any() and set(made["a"].dropna()) == {"x", "y"}
        if "privacy" in settings:
            assert_array_equal(made.dtypes, table.dtypes)
    with pytest.raises(ValueError, match="Column 'a' has values that columns does not name"):
        gan = DPWassersteinGAN(columns={"a": ["x", "y"]}, noise_multiplier=1.0, **QUICK)
        gan.fit(table)


def test_errors_quote_no_value():
    table = pd.DataFrame({"city": ["Oslo", "hidden place"] * 5})
    for settings in ({"columns": {"city": ["Oslo"]}}, {}):
        with pytest.raises(ValueError) as caught:
            DPWassersteinGAN(noise_multiplier=1.0, **settings, **QUICK).fit(table)
        assert "hidden" not in str(caught.value) and caught.value.__context__ is None


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"columns": {"cities": ["Oslo"]}}, "columns has 'cities', which is not a column of X"),
        ({"columns": {**COLUMNS, 9: ["Oslo"]}}, "columns has 9, which is not a column of X"),
        ({"columns": {**COLUMNS, "city": "Oslo"}}, r"columns\['city'\] must be 'number' or the"),
        ({"columns": {**COLUMNS, "city": ["a", "a"]}}, "each once; got"),
        ({"columns": {**COLUMNS, "city": []}}, "each once; got"),
        ({"lower": {"age": 18}}, "lower lacks column 'weight'"),
        ({"upper": {**UPPER, "age": 50}}, "has values outside its range"),
        ({"max_spectral_norm": 0.0}, "max_spectral_norm"),
        ({"columns": "blocks"}, "columns"),
    ],
)
def test_what_cannot_be_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        DPWassersteinGAN(**{**SETTINGS, "noise_multiplier": 1.0, **settings}).fit(TABLE)


def test_a_place_behind_the_columns_of_an_array_is_refused():
    X = np.arange(40.0).reshape(20, 2) // 2 % 2
    for place, is_refused in ((1, False), (2, True)):
        gan = DPWassersteinGAN(columns={place: [0, 1]}, privacy=None, **QUICK)
        words = tell_refusal(lambda gan=gan: gan.set_params(upper=2).fit(X))
        assert words == ("columns has 2, which is not a column of X." if is_refused else None)
    # A generator that has left the finite numbers draws no rows.
    gan = DPWassersteinGAN(privacy=None, upper=2, **QUICK).fit(X)
    for value in (np.nan, np.inf):
        gan.generator_[-1].bias.data.fill_(value)
        words = tell_refusal(gan.sample)
        assert words == "The generator draws no finite numbers; train it in smaller steps."


def test_a_column_of_one_value_is_constant():
    table = pd.DataFrame({"a": ["x"] * 30, "b": [7] * 30})
    gan = DPWassersteinGAN(lower={"b": 7}, upper={"b": 7}, privacy=None, **QUICK).fit(table)
    assert gan.sample(20).eq(table[:20]).all(axis=None)


def test_ends_of_a_series_belong_to_columns_by_their_names():
    table = pd.DataFrame({"a": [0.5, 0.5], "b": [70.0, 70.0]})
    ends = pd.Series({"b": 100.0, "a": 1.0})
    gan = DPWassersteinGAN(lower=0 * ends, upper=ends, privacy=None, **QUICK).fit(table)
    drawn = gan.sample(50, random_state=0)
    assert drawn["a"].max() <= 1 < drawn["b"].max()


def test_it_is_cloned_and_pickled():
    gan = DPWassersteinGAN(**SETTINGS, noise_multiplier=1.0)
    assert clone(gan).get_params()["columns"] == COLUMNS
    gan.fit(TABLE)
    again = pickle.loads(pickle.dumps(gan))
    assert again.sample(50, random_state=1).equals(gan.sample(50, random_state=1))


def test_parts_of_the_training_table_are_not_kept():
    gan = DPWassersteinGAN(**SETTINGS, noise_multiplier=1.0, noise_seed=0).fit(TABLE)
    other = DPWassersteinGAN(**SETTINGS, noise_multiplier=1.0, noise_seed=0).fit(TABLE[::-1])
    # All that is left of the rows is in the nets.
    assert not hasattr(gan._columns, "rows")
    assert len(pickle.dumps(gan._columns)) == len(pickle.dumps(other._columns))


def test_without_noise_it_learns_shares_of_values_and_that_columns_depend_on_each_other():
    rng = np.random.default_rng(0)
    kind = rng.choice(3, p=[0.6, 0.3, 0.1], size=2000)
    table = pd.DataFrame({"kind": np.array(["a", "b", "c"])[kind], "is_a": kind == 0})
    gan = DPWassersteinGAN(
        privacy=None,
        critic_layers=(16,),
        generator_layers=(16,),
        n_latent=4,
        learning_rate=2e-2,
        n_critic=3,
        max_iter=100,
        random_state=0,
    )
    made = gan.fit(table).sample(2000, random_state=0)
    shares = made["kind"].value_counts(normalize=True).reindex(["a", "b", "c"], fill_value=0)
    # A generator before training makes a third of each.
    assert np.abs(shares.to_numpy() - [0.6, 0.3, 0.1]).sum() < 0.2
    assert np.mean(made["is_a"] == (made["kind"] == "a")) > 0.9


def test_truth_values_that_are_missing_come_back():
    table = pd.DataFrame({"a": pd.array([True, False, None] * 30, dtype="boolean")})
    made = DPWassersteinGAN(privacy=None, **QUICK).fit(table).sample(200, random_state=0)
    assert made.dtypes.equals(table.dtypes) and made["a"].isna().any()
    for columns, message in (("auto", "NaN"), ({"a": [True, False]}, "columns does not name")):
        with pytest.raises(ValueError, match=message):
            DPWassersteinGAN(columns=columns, noise_multiplier=1.0, **QUICK).fit(table)


def test_dates_are_named():
    table = pd.DataFrame({"day": pd.date_range("2020", periods=20), "x": np.linspace(0, 1, 20)})
    with pytest.raises(ValueError, match="Column 'day' has dates; turn them into numbers"):
        DPWassersteinGAN(privacy=None, **QUICK).fit(table)
