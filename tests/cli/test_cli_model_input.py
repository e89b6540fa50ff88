"""Columns of a table reach a model as it was trained on them: it answers as for its own frame."""

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder

from skmia.cli._options import check
from skmia.cli._parser import make_parser
from skmia.cli._problem import make_problem

N = 160
RNG = np.random.default_rng(0)


def draw(values, missing=0.0):
    drawn = RNG.choice(np.array(values, dtype=object), N)
    drawn[RNG.random(N) < missing] = np.nan
    return drawn


# The frame of a user: what was read by hand, typed and prepared.
FRAME = pd.DataFrame(
    {
        "ward": pd.Categorical(draw(["west", "east", "north"], 0.1), ["west", "north", "east"]),
        "level": pd.Categorical(draw([3, 1, 2]), [3, 1, 2]),
        "region": pd.Series(draw(["R1", "R2", "R3"], 0.2)).astype("str"),
        "zip": pd.Series(draw(["00501", "02139", "94105"])).astype("str"),
        "allergy": draw(["None", "NA", "null", "latex"]),
        "remark": draw(["", "see file"]),
        "city": draw(["Zürich", "Köln", "São Paulo"]),
        "insured": RNG.random(N) < 0.5,
        "visits": np.where(RNG.random(N) < 0.2, np.nan, RNG.integers(0, 9, N)),
        "age": RNG.integers(18, 90, N),
        "bmi": RNG.normal(27, 5, N),
    }
)
TEXTS = ["region", "zip", "allergy", "remark", "city"]
CATEGORIES = ["ward", "level"]
NUMBERS = ["insured", "visits", "age", "bmi"]
Y = RNG.integers(0, 2, N)
NATIVE = FRAME.astype(dict.fromkeys(TEXTS, "category"))
FOREST = RandomForestClassifier(4, random_state=0)


def encode(texts, numbers, encoder=None):
    encoder = OneHotEncoder(handle_unknown="ignore") if encoder is None else encoder
    return make_column_transformer((encoder, texts), (SimpleImputer(), numbers))


def boost_by_histograms(**settings):
    return HistGradientBoostingClassifier(
        max_iter=8, min_samples_leaf=3, random_state=0, **settings
    )


def boost_by_xgboost(**settings):
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBClassifier(n_estimators=8, enable_categorical=True, n_jobs=1, **settings)


def boost_by_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    settings = {"n_estimators": 8, "min_child_samples": 3, "min_data_per_group": 1}
    return lightgbm.LGBMClassifier(**settings, n_jobs=1, verbose=-1)


def boost_by_catboost(frame):
    catboost = pytest.importorskip("catboost")
    texts = [name for name in frame if name in (*TEXTS, *CATEGORIES)]
    settings = {"iterations": 8, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    return catboost.CatBoostClassifier(cat_features=texts, **settings)


BY_TYPE = (
    make_column_selector(dtype_exclude="number"),
    make_column_selector(dtype_include="number"),
)
OF_CATEGORIES = (
    make_column_selector(dtype_include="category"),
    make_column_selector(dtype_exclude="category"),
)
PLAIN = FRAME[[*TEXTS, *NUMBERS]]
WITHOUT_MISSING = FRAME.drop(columns=["ward", "region", "visits"])
ARRAY = FRAME[["visits", "age", "bmi", "insured"]]

# Each kind of model with the frame on which it is trained.
KINDS = {
    "histograms by type": (lambda: boost_by_histograms(), NATIVE),
    "histograms by name": (
        lambda: boost_by_histograms(categorical_features=["zip", "city"]),
        FRAME[["zip", "city", "age", "visits"]],
    ),
    "xgboost": (boost_by_xgboost, NATIVE),
    "xgboost, dart": (lambda: boost_by_xgboost(booster="dart"), NATIVE),
    "lightgbm": (boost_by_lightgbm, NATIVE),
    "catboost": (lambda: boost_by_catboost(WITHOUT_MISSING), WITHOUT_MISSING),
    "encoded by name": (lambda: make_pipeline(encode(TEXTS, NUMBERS), FOREST), PLAIN),
    "encoded by type": (
        lambda: make_pipeline(encode(*BY_TYPE), FOREST),
        PLAIN.drop(columns="insured"),
    ),
    "encoded by type of category": (
        lambda: make_pipeline(encode(*OF_CATEGORIES), FOREST),
        NATIVE,
    ),
    "encoded by position": (
        lambda: make_pipeline(encode([0, 1, 2, 3, 4], [-4, 6, 7, 8]), FOREST),
        PLAIN,
    ),
    "ordinal": (
        lambda: make_pipeline(
            encode(
                [*CATEGORIES, *TEXTS],
                NUMBERS,
                OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
            ),
            boost_by_histograms(),
        ),
        FRAME,
    ),
    "by targets": (
        lambda: make_pipeline(encode(TEXTS, NUMBERS, TargetEncoder(cv=2)), FOREST),
        PLAIN,
    ),
}
FILES = {"xgboost": ["ubj", "json"], "xgboost, dart": ["ubj"], "lightgbm": ["txt"]}
FILES["catboost"] = ["cbm"]
CASES = [(kind, suffix) for kind in KINDS for suffix in ("joblib", *FILES.get(kind, ()))]


def save(model, path):
    if path.suffix == ".joblib":
        joblib.dump(model, path)
    elif path.suffix == ".txt":
        model.booster_.save_model(path)
    else:
        model.save_model(path)
    return path


def write(frame, y, folder, suffix):
    """A table of all rows with the target and the members."""
    table = frame.assign(ill=y, trained=np.arange(len(frame)) % 2)
    path = folder / f"table.{suffix}"
    if suffix == "csv":
        table.to_csv(path, index=False)
    else:
        table.to_parquet(path, index=False)
    return path


def make(model, table, *options):
    """The problem of an audit of a model in a file and a table."""
    words = ["audit", str(model), str(table), "--target", "ill", "--members", "trained"]
    if model.suffix == ".joblib":
        words.append("--trust-pickle")
    elif "--estimator" not in options:
        words += ["--estimator", "random-forest"]
    arguments = make_parser().parse_args([*words, *options])
    check(arguments)
    return make_problem(arguments)


def ask(problem):
    return problem.victim.predict_proba(problem.records.X)


@pytest.mark.parametrize("table", ["csv", "parquet"])
@pytest.mark.parametrize(("kind", "suffix"), CASES)
def test_a_model_answers_as_for_its_own_frame(tmp_path, kind, suffix, table):
    if table == "parquet":
        pytest.importorskip("pyarrow")
    make_model, frame = KINDS[kind]
    model = make_model().fit(frame, Y)
    # CatBoost stores no values, by which those of a text file that mean a missing one are known.
    options = ["--read", "keep_default_na=false"] if kind == "catboost" else []
    path = save(model, tmp_path / f"m.{suffix}")
    problem = make(path, write(frame, Y, tmp_path, table), *options)
    np.testing.assert_allclose(ask(problem), model.predict_proba(frame), rtol=1e-12)
