"""Generators of other packages as estimators, and shadow generators."""

import sys
from types import SimpleNamespace as NS

import numpy as np
import pandas as pd
import pytest
from cells import slow_but
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from skmia import Records, ShadowPool
from skmia.attacks import LiRA
from skmia.synthetic import (
    BootstrapGenerator,
    DPWassersteinGAN,
    GeneratorAttack,
    SDVGenerator,
    SmoteGenerator,
    SyntheticDistance,
)

RNG = np.random.default_rng(0)
N = 90
TABLE = pd.DataFrame(
    {
        "job": pd.Categorical(
            RNG.choice(["baker", "clerk", "nurse"], N), ["baker", "clerk", "nurse"]
        ),
        "age": RNG.integers(18, 90, N).astype("int32"),
        "weight": RNG.normal(70, 9, N),
        "smokes": RNG.random(N) < 0.3,
        "city": RNG.choice(["Oslo", "Rome"], N),
    },
    index=np.arange(N) + 100,
)


def make(name):
    if name == "smote":
        pytest.importorskip("imblearn")
        return SmoteGenerator()
    if name == "sdv":
        pytest.importorskip("sdv")
        return SDVGenerator(random_state=0)
    if name == "gan":
        pytest.importorskip("torch")
        pytest.importorskip("opacus")
        lower, upper = {"age": 18, "weight": 0}, {"age": 89, "weight": 200}
        return DPWassersteinGAN(lower, upper, privacy=None, max_iter=2, n_critic=1)
    return BootstrapGenerator()


NAMES = ["bootstrap", "smote", "sdv", "gan"]


@pytest.mark.parametrize("name", NAMES)
def test_a_mixed_table_comes_back_with_its_types(name):
    generator = clone(make(name)).fit(TABLE)
    made = generator.sample(200, random_state=0)
    assert list(made.columns) == list(TABLE.columns) and len(made) == 200
    assert_array_equal(made.dtypes, TABLE.dtypes)
    assert set(made["city"]) <= {"Oslo", "Rome"} and made["age"].between(18, 89).all()
    assert made.equals(generator.sample(200, random_state=0))
    assert not made.equals(generator.sample(200, random_state=1))
    assert not generator.sample(200).equals(generator.sample(200))


class Synthesizer:
    """A synthesizer as those of SDV: it keeps what it is given, and draws numbers of its columns.

    Both its training and its draws follow the global generator of numpy.
    """

    def __init__(self, metadata, **settings):
        self.metadata, self.settings = metadata, settings

    def fit(self, given):
        self.given = given
        self.level = np.random.random_sample()  # noqa: NPY002

    def _set_random_state(self, seed):
        self.seed = seed

    def sample(self, num_rows):
        table = self.given["table"] if isinstance(self.given, dict) else self.given
        rows = np.random.randint(len(table), size=num_rows)  # noqa: NPY002
        drawn = table.iloc[rows]
        return {"table": drawn} if isinstance(self.given, dict) else drawn


class Metadata:
    @staticmethod
    def load_from_dict(given):
        return given


@pytest.mark.parametrize(
    ("version", "kinds"),
    [
        ("1.0", {"SingleTableMetadata": Metadata}),
        ("1.17", {"SingleTableMetadata": Metadata, "Metadata": Metadata}),
        ("2", {"Metadata": Metadata}),
    ],
)
def test_what_each_version_of_sdv_is_given(version, kinds, monkeypatch):
    monkeypatch.setitem(sys.modules, "sdv", NS())
    tables = NS(CTGANSynthesizer=Synthesizer)
    monkeypatch.setitem(sys.modules, "sdv.single_table", tables)
    monkeypatch.setitem(sys.modules, "sdv.metadata", NS(**kinds))
    table = TABLE.set_axis(range(5), axis=1)
    generator = SDVGenerator("ctgan", settings={"epochs": 9}, random_state=0).fit(table)
    made = generator.synthesizer_
    types = ["categorical", "numerical", "numerical", "boolean", "categorical"]
    names = [*"01234"]
    columns = {"columns": {name: {"sdtype": kind} for name, kind in zip(names, types, strict=True)}}
    tables = {"tables": {"table": columns}, "relationships": []}
    assert made.metadata == (columns if version == "1.0" else tables)
    assert made.settings == {"epochs": 9} and isinstance(made.given, dict) == (version == "2")
    given = made.given["table"] if version == "2" else made.given
    assert list(given.columns) == names
    assert_array_equal(given.dtypes, [object, "int32", float, bool, object])
    assert_array_equal(given.to_numpy(), table.to_numpy())
    # Training and draws repeat with a seed, and leave the global generator as it was.
    state = np.random.get_state()[1].tolist()  # noqa: NPY002
    levels = [
        SDVGenerator("ctgan", random_state=seed).fit(table).synthesizer_.level
        for seed in (0, 1, None, None)
    ]
    assert levels[0] == made.level and len({*levels}) == 4
    drawn = generator.sample(30, random_state=0)
    assert np.random.get_state()[1].tolist() == state  # noqa: NPY002
    assert list(drawn.columns) == list(table.columns) and len(drawn) == 30
    assert_array_equal(drawn.dtypes, table.dtypes)
    seed = made.seed
    assert drawn.equals(generator.sample(30, random_state=0)) and made.seed == seed
    assert not drawn.equals(generator.sample(30, random_state=1)) and made.seed != seed
    assert SDVGenerator("ctgan").fit(table).synthesizer_.settings == {}


@pytest.mark.parametrize("name", ["bootstrap", "smote", "sdv"])
def test_an_array_comes_back_as_an_array(name):
    X = RNG.normal(size=(60, 3))
    made = make(name).fit(X).sample(20, random_state=0)
    assert made.shape == (20, 3) and made.dtype == float


@pytest.mark.parametrize("n_samples", [0, -1, 2.5])
def test_numbers_of_rows_to_draw_are_checked(n_samples):
    with pytest.raises(ValueError, match="n_samples must be an integer from 1"):
        BootstrapGenerator().fit(TABLE).sample(n_samples)


def test_bootstrap_draws_training_rows():
    made = BootstrapGenerator().fit(TABLE).sample(500, random_state=0)
    assert len(pd.concat([TABLE, made]).drop_duplicates()) == len(TABLE.drop_duplicates())


def test_smote_makes_rows_between_a_row_and_a_neighbor():
    pytest.importorskip("imblearn")
    X = np.array([[0.0, 0.0], [1.0, 2.0]])
    made = SmoteGenerator(n_neighbors=1).fit(X).sample(50, random_state=0)
    assert np.allclose(made[:, 1], 2 * made[:, 0]) and ((made >= 0) & (made <= [1, 2])).all()
    with pytest.raises(ValueError, match="n_neighbors=2 needs more rows than neighbors; got 2"):
        SmoteGenerator(n_neighbors=2).fit(X)


@pytest.mark.parametrize("columns", [["job"], ["age", "weight"], ["job", "smokes", "city"]])
def test_smote_takes_all_kinds_of_tables(columns):
    pytest.importorskip("imblearn")
    table = TABLE[columns].copy()
    if "city" in columns:
        table.loc[table.index[:5], "city"] = None
    made = SmoteGenerator().fit(table).sample(40, random_state=0)
    assert_array_equal(made.dtypes, table.dtypes)


@pytest.mark.parametrize("name", NAMES)
def test_generators_can_be_attacked(name):
    generator = FrozenEstimator(make(name).fit(TABLE[:45]))
    records = Records(TABLE, np.zeros(N))
    attack = GeneratorAttack(generator, statistic="distance", metric="gower", random_state=0)
    assert np.isfinite(attack.fit(records).score_samples(records)).all()


@pytest.mark.parametrize("name", slow_but(NAMES, "bootstrap", "smote"))
def test_shadow_generators_find_members(name):
    records, membership = Records(TABLE, np.zeros(N)), np.arange(N) % 2 == 0
    model = SyntheticDistance(make(name), metric="gower", n_samples=300, random_state=0)
    victim = FrozenEstimator(clone(model).fit(TABLE[membership]))
    pool = ShadowPool(model, 8 if name == "bootstrap" else 4, random_state=0)
    attack = LiRA(victim, pool).fit(records)
    assert np.isfinite(attack.score_samples(records)).all()
    if name == "bootstrap":  # each row of the victim is a copy of a member
        assert attack.score(records, membership) > 0.8


def test_smote_names_a_column_that_lacks_numbers():
    pytest.importorskip("imblearn")
    for weight in (TABLE["weight"].where(TABLE["weight"] > 60), TABLE["weight"] * 1e300):
        with pytest.raises(ValueError, match="Column 'weight' must hold numbers below 1e\\+150"):
            SmoteGenerator().fit(TABLE.assign(weight=weight))
