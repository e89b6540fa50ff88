"""Columns of a table reach a model as it was trained on them: it answers as for its own frame."""

import json
import shutil
from copy import deepcopy
from functools import cache

import joblib
import numpy as np
import pandas as pd
import pytest
from cells import slow, slow_but
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, TargetEncoder

from skmia.cli._inputs import make_problem
from skmia.cli._options import CommandError, check
from skmia.cli._parser import make_parser

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
        "region": pd.Series(draw(["R1", "R2", "R3"], 0.2), dtype=str),
        "zip": pd.Series(draw(["00501", "02139", "94105"]), dtype="string"),
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
    xgboost = pytest.importorskip("xgboost", "3.1")  # versions before store no categories
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
OF_SINGLE_PRECISION = (
    make_column_selector(dtype_exclude="float32"),
    make_column_selector(dtype_include="float32"),
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
    "encoded by single precision": (
        lambda: make_pipeline(encode(*OF_SINGLE_PRECISION), FOREST),
        PLAIN[["zip", "age", "bmi"]].astype({"age": np.float32, "bmi": np.float32}),
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


@cache
def fit(kind):
    """Return a model of a kind, which tests only ask and save."""
    make_model, frame = KINDS[kind]
    return deepcopy(make_model()).fit(frame, Y)  # kinds have parts in common


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


# Tables of parquet, which keep types, for each way to know categories.
TYPED = {
    *(("histograms by type", "joblib"), ("encoded by type of category", "joblib")),
    *(("catboost", "cbm"), ("xgboost", "ubj"), ("lightgbm", "txt")),
}
TABLES = [(*case, "csv") for case in CASES] + [(*case, "parquet") for case in CASES]
# XGBoost stores trees that are dropped in training as others.
QUICK = [
    case
    for case in TABLES
    if case[:2] != ("xgboost, dart", "joblib") and (case[2] == "csv" or case[:2] in TYPED)
]


@pytest.mark.parametrize(("kind", "suffix", "table"), slow_but(TABLES, *QUICK))
def test_a_model_answers_as_for_its_own_frame(tmp_path, kind, suffix, table):
    if table == "parquet":
        pytest.importorskip("pyarrow")
    model, frame = fit(kind), KINDS[kind][1]
    # CatBoost stores no values, by which those of a text file that mean a missing one are known.
    options = ["--read", "keep_default_na=false"] if kind == "catboost" else []
    path = save(model, tmp_path / f"m.{suffix}")
    problem = make(path, write(frame, Y, tmp_path, table), *options)
    np.testing.assert_allclose(ask(problem), model.predict_proba(frame), rtol=1e-12)


@pytest.mark.parametrize("kind", ["encoded by type", "encoded by type of category"])
def test_a_clone_chooses_the_columns_that_the_model_chose(tmp_path, kind):
    model, frame = fit(kind), KINDS[kind][1]
    problem = make(save(model, tmp_path / "m.joblib"), write(frame, Y, tmp_path, "csv"))
    fitted = clone(model).fit(problem.records.X, Y)
    chosen = [part[2] for part in fitted[0].transformers_]
    assert chosen == [part[2] for part in model[0].transformers_]
    np.testing.assert_array_equal(fitted.predict_proba(problem.records.X), ask(problem))


def test_a_clone_has_the_categories_of_the_model(tmp_path):
    model = boost_by_histograms().fit(NATIVE, Y)
    problem = make(save(model, tmp_path / "m.joblib"), write(NATIVE, Y, tmp_path, "csv"))
    fitted = clone(model).fit(problem.records.X, Y)
    np.testing.assert_array_equal(fitted.predict_proba(problem.records.X), ask(problem))


class ChoiceByLength:
    """Chooses other columns of tables of another length."""

    def __call__(self, frame):
        return ["age"] if len(frame) == N else ["bmi"]


def test_another_choice_by_a_function_is_refused(tmp_path):
    frame = FRAME[["age", "bmi"]]
    columns = make_column_transformer((SimpleImputer(), ChoiceByLength()))
    path = save(make_pipeline(columns, FOREST).fit(frame, Y), tmp_path / "m.joblib")
    make(path, write(frame, Y, tmp_path, "csv"))
    with pytest.raises(CommandError, match="would choose 'age' and 'bmi' otherwise"):
        make(path, write(frame[::2], Y[::2], tmp_path, "csv"))


NOTES = np.array(["chest pain", "fever, cough", "rash and itch", "a cough"], dtype=object)


@pytest.mark.parametrize(
    ("steps", "table"),
    [
        ([TfidfVectorizer()], "csv"),
        ([TfidfVectorizer()], "parquet"),
        ([HashingVectorizer(n_features=32)], "csv"),
        slow([HashingVectorizer(n_features=32)], "parquet"),
        ([FunctionTransformer(), TfidfVectorizer()], "csv"),
        slow([FunctionTransformer(), TfidfVectorizer()], "parquet"),
    ],
)
def test_a_model_of_texts_gets_its_one_column(tmp_path, steps, table):
    if table == "parquet":
        pytest.importorskip("pyarrow")
    notes = pd.Series(NOTES[np.arange(N) % 4])
    model = make_pipeline(*steps, LogisticRegression()).fit(notes, Y)
    path = save(model, tmp_path / "m.joblib")
    problem = make(path, write(notes.to_frame("note"), Y, tmp_path, table))
    np.testing.assert_allclose(ask(problem), model.predict_proba(notes), rtol=1e-12)
    with pytest.raises(CommandError, match=r"one column of texts.*'note' and 'age'.*--drop"):
        make(path, write(pd.DataFrame({"note": notes, "age": 1}), Y, tmp_path, table))
    problem = make(
        path, write(pd.DataFrame({"note": notes, "age": 1}), Y, tmp_path, table), "--drop", "age"
    )
    np.testing.assert_allclose(ask(problem), model.predict_proba(notes), rtol=1e-12)


def test_a_text_column_that_a_function_chooses_comes_with_its_table(tmp_path):
    frame = pd.DataFrame({"age": FRAME["age"], "note": NOTES[np.arange(N) % 4]})
    columns = make_column_transformer((TfidfVectorizer(), "note"), remainder="passthrough")
    model = make_pipeline(columns, LogisticRegression()).fit(frame, Y)
    problem = make(save(model, tmp_path / "m.joblib"), write(frame, Y, tmp_path, "csv"))
    np.testing.assert_allclose(ask(problem), model.predict_proba(frame), rtol=1e-12)


@pytest.mark.parametrize("table", ["csv", "parquet"])
def test_a_model_of_arrays_gets_the_columns_in_their_order(tmp_path, table):
    if table == "parquet":
        pytest.importorskip("pyarrow")
    frame = PLAIN[NUMBERS]
    forest = RandomForestClassifier(4, random_state=0).fit(frame.to_numpy(), Y)
    problem = make(save(forest, tmp_path / "m.joblib"), write(frame, Y, tmp_path, table))
    np.testing.assert_array_equal(ask(problem), forest.predict_proba(frame.to_numpy()))
    (note,) = [note for note in problem.notes if "no names" in note]
    assert "'insured', 'visits', 'age' and 'bmi'" in note
    # Texts and numbers beside each other, and codes that look like numbers.
    frame = PLAIN[["zip", "age", "allergy"]]
    columns = make_column_transformer((OneHotEncoder(), [0, 2]), remainder="passthrough")
    model = make_pipeline(columns, FOREST).fit(frame.to_numpy(), Y)
    problem = make(save(model, tmp_path / "m.joblib"), write(frame, Y, tmp_path, table))
    np.testing.assert_array_equal(ask(problem), model.predict_proba(frame.to_numpy()))


class ByNames(BaseEstimator, TransformerMixin):
    """Computes a column from others by their names, and knows none of them."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X.assign(ratio=X["bmi"] / X["age"])[["age", "ratio"]]


def test_a_model_that_takes_tables_alone_gets_one(tmp_path):
    frame = FRAME[["age", "bmi"]]
    model = make_pipeline(ByNames(), FOREST).fit(frame, Y)
    problem = make(save(model, tmp_path / "m.joblib"), write(frame, Y, tmp_path, "csv"))
    np.testing.assert_array_equal(ask(problem), model.predict_proba(frame))
    note = "The model gets a table with the names of its columns, as it takes no array."
    assert note in problem.notes


class SinglePrecision(RandomForestClassifier):
    """Takes single precision alone, as the weights of a net do."""

    def predict_proba(self, X):
        kinds = {str(kind) for kind in getattr(X, "dtypes", [getattr(X, "dtype", "")])}
        if kinds != {"float32"}:
            raise RuntimeError("mat1 and mat2 must have the same dtype")
        return super().predict_proba(X)


@pytest.mark.parametrize("are_whole", [True, False])
@pytest.mark.parametrize("are_named", [True, False])
def test_a_model_that_takes_single_precision_alone_gets_it(tmp_path, are_named, are_whole):
    frame = FRAME[["age", "bmi"]].astype(np.float32)
    frame = frame.round() if are_whole else frame
    given = frame if are_named else frame.to_numpy()
    model = SinglePrecision(4, random_state=0).fit(given, Y)
    table = write(frame.astype(int) if are_whole else frame, Y, tmp_path, "csv")
    problem = make(save(model, tmp_path / "m.joblib"), table)
    np.testing.assert_array_equal(ask(problem), model.predict_proba(given))
    assert "The model gets numbers in single precision, as it takes no other." in problem.notes


def test_codes_by_position_stay_numbers(tmp_path):
    X = np.column_stack([RNG.integers(0, 4, N), FRAME["bmi"]])
    model = boost_by_histograms(categorical_features=[0]).fit(X, Y)
    table = write(pd.DataFrame(X, columns=["code", "bmi"]), Y, tmp_path, "csv")
    problem = make(save(model, tmp_path / "m.joblib"), table)
    np.testing.assert_array_equal(ask(problem), model.predict_proba(X))


def test_missing_values_are_none_where_the_encoder_knows_them_so(tmp_path):
    frame = PLAIN[["age"]].assign(region=PLAIN["region"].astype(object))
    frame.loc[frame["region"].isna(), "region"] = None
    model = make_pipeline(encode(["region"], ["age"], OneHotEncoder()), FOREST).fit(frame, Y)
    problem = make(save(model, tmp_path / "m.joblib"), write(frame, Y, tmp_path, "csv"))
    np.testing.assert_array_equal(ask(problem), model.predict_proba(frame))


# Models of a column of words, in which those of a list are numbered.
OF_WORDS = {
    "encoder": lambda: make_pipeline(encode(["ward"], ["age"], OneHotEncoder()), FOREST),
    "histograms": lambda: boost_by_histograms(),
    "lightgbm": lambda: boost_by_lightgbm(),
    "xgboost": lambda: boost_by_xgboost(),
}


@pytest.mark.parametrize(
    ("kind", "word", "suffix"),
    [
        ("encoder", "nan", "csv"),
        ("encoder", "", "parquet"),
        ("histograms", "Unknown", "csv"),
        ("lightgbm", "Unknown", "csv"),
        ("xgboost", "nan", "csv"),
    ],
)
def test_missing_values_are_read_as_the_word_that_they_were_in_training(
    tmp_path, kind, word, suffix
):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    frame = FRAME[["age"]].assign(ward=FRAME["ward"].astype(str).where(FRAME["ward"].notna()))
    given = frame.assign(ward=frame["ward"].fillna(word).astype("category"))
    y = given["ward"] == word
    model = OF_WORDS[kind]().fit(given, y)
    problem = make(save(model, tmp_path / "m.joblib"), write(frame, y, tmp_path, suffix))
    np.testing.assert_allclose(ask(problem), model.predict_proba(given), rtol=1e-12)
    assert any(f"are read as '{word}'" in note for note in problem.notes)


@pytest.mark.parametrize("boost", [boost_by_lightgbm, boost_by_histograms])
def test_missing_values_stay_missing_where_no_training_row_had_the_word(tmp_path, boost):
    wards = pd.Categorical(FRAME["ward"], ["unknown", "west", "north", "east"])
    frame = FRAME[["age"]].assign(ward=wards)
    y = frame["ward"].isna()
    model = boost().fit(frame, y)
    problem = make(save(model, tmp_path / "m.joblib"), write(frame, y, tmp_path, "csv"))
    np.testing.assert_allclose(ask(problem), model.predict_proba(frame), rtol=1e-12)
    assert problem.records.X["ward"].isna().equals(y)


def test_missing_values_stay_missing_where_the_model_takes_both_them_and_the_word(tmp_path):
    ward = FRAME["ward"].astype(object).where(FRAME["ward"] != "west", "unknown")
    for model, frame in (
        (OF_WORDS["encoder"](), FRAME[["age"]].assign(ward=ward)),
        (boost_by_histograms(), FRAME[["age"]].assign(ward=ward.astype("category"))),
    ):
        y = frame["ward"].isna()
        problem = make(
            save(model.fit(frame, y), tmp_path / "m.joblib"), write(frame, y, tmp_path, "parquet")
        )
        np.testing.assert_allclose(ask(problem), model.predict_proba(frame), rtol=1e-12)


def test_rows_without_a_value_are_told_where_the_model_has_seen_none(tmp_path):
    encoder = OneHotEncoder(handle_unknown="ignore")
    given = FRAME[["age"]].assign(visits=FRAME["visits"].fillna(99).astype(int))
    model = make_pipeline(encode(["visits"], ["age"], encoder), FOREST).fit(given, Y)
    table = write(FRAME[["age", "visits"]], Y, tmp_path, "csv")
    (note,) = make(save(model, tmp_path / "m.joblib"), table).notes
    n_missing = FRAME["visits"].isna().sum()
    assert f"Column 'visits' has no value in {n_missing} of {N} rows" in note
    assert "knows none such; it knows '99', '0' and '1'" in note


@pytest.mark.parametrize(
    ("encoder", "are_named"),
    [
        (OneHotEncoder(), True),
        slow(OneHotEncoder(), False),
        slow(OrdinalEncoder(), True),
        (OrdinalEncoder(), False),
        (TargetEncoder(cv=2), True),
        slow(TargetEncoder(cv=2), False),
    ],
)
def test_numbers_beside_missing_values_are_objects_where_the_encoder_has_such(
    tmp_path, encoder, are_named
):
    frame = FRAME[["level", "visits"]].astype(object)
    columns = ["level", "visits"] if are_named else [0, 1]
    given = frame if are_named else frame.to_numpy()
    model = make_pipeline(make_column_transformer((encoder, columns)), FOREST)
    problem = make(
        save(model.fit(given, Y), tmp_path / "m.joblib"), write(frame, Y, tmp_path, "csv")
    )
    np.testing.assert_allclose(ask(problem), model.predict_proba(given), rtol=1e-12)


def test_a_clone_of_lightgbm_splits_ordered_categories_as_numbers(tmp_path):
    wards = pd.Categorical(FRAME["ward"], ["north", "west", "east"], ordered=True)
    frame = FRAME[["age", "bmi"]].assign(ward=wards)
    y = wards == "west"
    model = boost_by_lightgbm().fit(frame, y)
    problem = make(save(model, tmp_path / "m.joblib"), write(frame, y, tmp_path, "csv"))
    fitted = clone(model).fit(problem.records.X, y)
    np.testing.assert_array_equal(fitted.predict_proba(problem.records.X), ask(problem))


@pytest.mark.parametrize("suffix", ["joblib", "ubj"])
def test_numbers_of_xgboost_that_are_categories_are_their_codes(tmp_path, suffix):
    frame = pd.DataFrame({"code": RNG.choice([0, 3, 7], N), "age": FRAME["age"]})
    y = (frame["code"] == 7).astype(int)
    model = boost_by_xgboost(feature_types=["c", "q"]).fit(frame, y)
    path = save(model, tmp_path / f"m.{suffix}")
    problem = make(path, write(frame, y, tmp_path, "csv"))
    np.testing.assert_array_equal(ask(problem), model.predict_proba(frame))
    assert any("its numbers are taken as their codes" in note for note in problem.notes)


def test_a_model_of_dictionaries_gets_each_row_as_one(tmp_path):
    frame = FRAME[["zip", "age", "insured", "allergy"]]
    model = make_pipeline(DictVectorizer(), FOREST).fit(frame.to_dict("records"), Y)
    path = save(model, tmp_path / "m.joblib")
    problem = make(path, write(frame.assign(bmi=FRAME["bmi"]), Y, tmp_path, "csv"))
    np.testing.assert_array_equal(ask(problem), model.predict_proba(frame.to_dict("records")))
    assert {*problem.records.X[0]} == {*frame}  # of which alone clones learn
    with pytest.raises(CommandError, match="lacks 1 of the model's 4 features: allergy"):
        make(path, write(frame.drop(columns="allergy"), Y, tmp_path, "csv"))


@pytest.mark.parametrize("kind", ["histograms", pytest.param("lightgbm", marks=pytest.mark.slow)])
@pytest.mark.parametrize("values", [[True, False], [0.5, 1.5, np.nan], ["1", "2", "10"], [7, 1]])
def test_categories_can_be_of_any_type(tmp_path, kind, values):
    frame = FRAME[["age"]].assign(code=pd.Categorical(draw(values)))
    model = (boost_by_lightgbm if kind == "lightgbm" else boost_by_histograms)().fit(frame, Y)
    problem = make(save(model, tmp_path / "m.joblib"), write(frame, Y, tmp_path, "csv"))
    np.testing.assert_allclose(ask(problem), model.predict_proba(frame), rtol=1e-12)


AROUND = {
    "calibrated": lambda: CalibratedClassifierCV(boost_by_xgboost(), cv=2),
    "vote": lambda: VotingClassifier([("a", boost_by_lightgbm())], voting="soft"),
    "stack": lambda: StackingClassifier([("a", boost_by_histograms())], cv=2),
    "vote of pipelines": lambda: VotingClassifier(
        [
            ("a", make_pipeline(encode(["zip"], ["age"]), FOREST)),
            ("b", make_pipeline(encode(["city"], ["bmi"]), LogisticRegression())),
        ],
        voting="soft",
    ),
    "one against the rest": lambda: OneVsRestClassifier(
        make_pipeline(encode(["zip", "city"], ["age"]), LogisticRegression())
    ),
    "search": lambda: GridSearchCV(boost_by_lightgbm(), {"n_estimators": [3]}, cv=2),
    "pipeline": lambda: make_pipeline(
        make_column_transformer(
            ("passthrough", CATEGORIES), remainder="passthrough", verbose_feature_names_out=False
        ).set_output(transform="pandas"),
        boost_by_xgboost(),
    ),
}


@pytest.mark.parametrize("name", AROUND)
def test_categories_are_known_inside_other_models(tmp_path, name):
    model = AROUND[name]().fit(NATIVE, Y)
    problem = make(save(model, tmp_path / "m.joblib"), write(NATIVE, Y, tmp_path, "csv"))
    np.testing.assert_allclose(ask(problem), model.predict_proba(NATIVE), rtol=1e-12)


@pytest.mark.parametrize("suffix", ["joblib", "ubj"])
def test_categories_with_accents_of_which_the_file_has_lost_some(tmp_path, suffix):
    cities = [f"Kö{k:02d}" for k in range(12)]
    frame = FRAME[["age"]].assign(city=pd.Categorical(draw(cities, 0.2), cities))
    model = boost_by_xgboost().fit(frame, Y)
    path = save(model, tmp_path / f"m.{suffix}")
    problem = make(path, write(frame, Y, tmp_path, "csv"))
    assert problem.records.X["city"].cat.categories.tolist() == cities and not problem.notes
    np.testing.assert_allclose(ask(problem), model.predict_proba(frame), rtol=1e-12)
    with pytest.raises(CommandError, match="column 'city': all values are unknown"):
        make(path, write(frame.assign(city="Napoli"), Y, tmp_path, "csv"))


class Encoded(TransformerMixin, BaseEstimator):
    """Step that does not say what it takes: numbers of categories."""

    def fit(self, X, y=None):
        self.feature_names_in_ = np.array(X.columns, dtype=object)
        return self

    def transform(self, X):
        return np.column_stack([X[name].cat.codes for name in X])


def test_numbers_with_zeros_in_front_are_told_where_the_model_does_not_know_the_column(tmp_path):
    frame = FRAME[["zip", "age"]].astype({"zip": str})
    step = FunctionTransformer(pd.DataFrame.astype, kw_args={"dtype": float})
    model = make_pipeline(step, FOREST).fit(frame, Y)
    notes = make(save(model, tmp_path / "m.joblib"), write(frame, Y, tmp_path, "csv")).notes
    assert any("'zip' holds numbers that begin with a zero" in note for note in notes)


def test_texts_of_which_nothing_is_known_are_named_where_the_model_fails(tmp_path):
    frame = FRAME[["zip", "city"]].astype("category")
    model = make_pipeline(Encoded(), FOREST).fit(frame, Y)
    told = refuse(tmp_path, frame, model)
    assert "the model does not answer for this table" in told
    assert "'zip' and 'city', which hold text" in told or "'city', which hold text" in told
    path, table = tmp_path / "m.joblib", write(frame, Y, tmp_path, "csv")
    options = ["--read", "dtype.zip=category", "--read", "dtype.city=category"]
    problem = make(path, table, *options)
    np.testing.assert_array_equal(ask(problem), model.predict_proba(frame))


def test_names_of_lightgbm_have_no_blanks(tmp_path):
    frame = NATIVE.rename(columns={"age": "age in years", "ward": "ward of stay"})
    model = boost_by_lightgbm().fit(frame, Y)
    table = write(frame, Y, tmp_path, "csv")
    for suffix in ("joblib", "txt"):
        problem = make(save(model, tmp_path / f"m.{suffix}"), table)
        np.testing.assert_allclose(ask(problem), model.predict_proba(frame), rtol=1e-12)


def test_categories_that_the_file_does_not_store_are_numbered_in_order(tmp_path):
    frame = FRAME[["zip", "age"]].astype({"zip": "category"})
    model = boost_by_xgboost().fit(frame, Y)
    path = save(model, tmp_path / "m.json")
    stored = json.loads(path.read_text())
    stored["learner"]["gradient_booster"]["model"].pop("cats", None)  # as versions before 3
    path.write_text(json.dumps(stored))
    problem = make(path, write(frame, Y, tmp_path, "csv"), "--read", "dtype.zip=str")
    np.testing.assert_allclose(ask(problem), model.predict_proba(frame), rtol=1e-12)
    assert any("stores no categories of 'zip'" in note for note in problem.notes)


SMOKERS = pd.DataFrame({"smoker": np.tile(["yes", "no"], N // 2), "age": FRAME["age"]})


def refuse(tmp_path, frame, model, suffix="csv"):
    with pytest.raises(CommandError) as caught:
        make(save(model, tmp_path / "m.joblib"), write(frame, Y, tmp_path, suffix))
    return str(caught.value)


UNKNOWN = {
    "numbers": ({"yes": "1", "no": "0"}, "as '1' and '0'"),
    "capitals": ({"yes": "Yes", "no": "No"}, "They differ in upper and lower case"),
    "German": ({"yes": "ja", "no": "nein"}, "Give the values as they were in training"),
}
ENCODED = [("encoder", name) for name in UNKNOWN]
KNOWING = [(kind, name) for kind in ("encoder", "histograms", "lightgbm") for name in UNKNOWN]
# What is said of the values does not depend on who knows them.
SOME = [*ENCODED, ("histograms", "capitals"), ("lightgbm", "numbers")]


@pytest.mark.parametrize(("kind", "name"), slow_but(KNOWING, *SOME))
def test_a_column_of_which_the_model_knows_no_value_is_refused(tmp_path, kind, name):
    found, words = UNKNOWN[name]
    model, frame = make_pipeline(encode(["smoker"], ["age"]), FOREST), SMOKERS
    if kind != "encoder":
        model = boost_by_lightgbm() if kind == "lightgbm" else boost_by_histograms()
        frame = SMOKERS.astype({"smoker": "category"})
    table = SMOKERS.assign(smoker=SMOKERS["smoker"].map(found))
    told = refuse(tmp_path, table, model.fit(frame, Y))
    assert "column 'smoker': all values are unknown to the model" in told
    assert "it knows 'no' and 'yes'" in told or "it knows 'yes' and 'no'" in told
    assert words in told


def test_few_unknown_values_are_a_note(tmp_path):
    model = make_pipeline(encode(["smoker"], ["age"]), FOREST).fit(SMOKERS, Y)
    table = SMOKERS.assign(smoker=["never", "never", *SMOKERS["smoker"][2:]])
    problem = make(save(model, tmp_path / "m.joblib"), write(table, Y, tmp_path, "csv"))
    np.testing.assert_array_equal(ask(problem), model.predict_proba(table))
    (note,) = problem.notes
    assert note.startswith("Column 'smoker': 2 of 160 values are unknown to the model")
    strict = make_pipeline(encode(["smoker"], ["age"], OneHotEncoder()), FOREST).fit(SMOKERS, Y)
    told = refuse(tmp_path, table, strict)
    assert "column 'smoker' has a value unknown to it, as 'never', in 2 of 160 rows" in told


def test_missing_values_that_the_model_refuses_are_named(tmp_path):
    strict = make_pipeline(encode(["smoker"], ["age"], OneHotEncoder()), FOREST).fit(SMOKERS, Y)
    table = SMOKERS.assign(smoker=["", *SMOKERS["smoker"][1:]])
    assert "column 'smoker' has no value in 1 of 160 rows" in refuse(tmp_path, table, strict)
    plain = LogisticRegression().fit(SMOKERS[["age"]], Y)
    table = SMOKERS[["age"]].astype(object)
    table.loc[3, "age"] = ""
    assert "column 'age' has no value in 1 of 160 rows" in refuse(tmp_path, table, plain)
    table = SMOKERS[["age"]].astype(float)
    table.loc[3, "age"] = np.inf
    assert "column 'age' holds an infinite number in 1 of 160 rows" in refuse(
        tmp_path, table, plain
    )


@pytest.mark.parametrize("table", ["csv", "parquet"])
def test_text_where_the_model_takes_numbers_is_named(tmp_path, table):
    if table == "parquet":
        pytest.importorskip("pyarrow")
    model = LogisticRegression().fit(FRAME[["age", "bmi"]], Y)
    frame = FRAME[["bmi"]].assign(age=FRAME["city"])
    told = refuse(tmp_path, frame, model, table)
    assert "column 'age'" in told and "number" in told and "'Köln'" in told


def test_columns_whose_names_differ_in_form_are_the_features(tmp_path):
    frame = FRAME[["age", "bmi"]]
    model = FOREST.fit(frame, Y)
    table = write(frame.rename(columns={"bmi": "BMI", "age": "Age "}), Y, tmp_path, "csv")
    problem = make(save(model, tmp_path / "m.joblib"), table)
    np.testing.assert_array_equal(ask(problem), model.predict_proba(frame))
    assert any("'bmi' is the column 'BMI'" in note for note in problem.notes)


def test_columns_that_the_table_lacks_come_with_those_that_it_has(tmp_path):
    model = FOREST.fit(FRAME[["age", "visits"]], Y)
    told = refuse(tmp_path, FRAME[["age", "visits"]].rename(columns={"visits": "visit"}), model)
    assert "lacks 1 of the model's 2 features: visits; is it 'visits' for 'visit'?" in told
    dummies = pd.get_dummies(SMOKERS)
    told = refuse(tmp_path, SMOKERS, RandomForestClassifier(3).fit(dummies, Y))
    assert "trained on dummies of 'smoker'" in told


def test_a_validation_file_is_read_as_the_model_knows_it(tmp_path):
    frame = NATIVE[["ward", "zip", "age"]]
    model = boost_by_xgboost(early_stopping_rounds=2)
    model.fit(frame, Y, eval_set=[(frame, Y)], verbose=False)
    table = write(frame, Y, tmp_path, "csv")
    validation = shutil.copy(table, tmp_path / "validation.csv")
    problem = make(save(model, tmp_path / "m.joblib"), table, "--validation", str(validation))
    ((X, _),) = problem.fit_params["eval_set"]
    np.testing.assert_allclose(model.predict_proba(X), model.predict_proba(frame), rtol=1e-12)


@pytest.mark.parametrize("suffix", ["joblib", slow("cbm")])
def test_bools_and_whole_numbers_of_catboost_may_be_written_in_other_ways(tmp_path, suffix):
    place = np.arange(N)
    frame = FRAME[["age"]].assign(smoker=place % 2 == 0, ward=place % 3)
    y = (frame["smoker"] ^ (frame["ward"] == 1)).astype(int)
    catboost = pytest.importorskip("catboost")
    settings = {"iterations": 8, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    settings |= {"cat_features": ["smoker", "ward"], "random_seed": 0}
    model = catboost.CatBoostClassifier(**settings).fit(frame, y)
    path = save(model, tmp_path / f"m.{suffix}")
    texts = frame.assign(
        smoker=frame["smoker"].map({True: "TRUE", False: "FALSE"}),
        ward=frame["ward"].map("{:05d}".format),
    )
    problem = make(path, write(texts, y, tmp_path, "csv"))
    np.testing.assert_array_equal(ask(problem), model.predict_proba(frame))
    assert sum("is read as whole numbers" in note for note in problem.notes) == 2
    # A model of these texts knows them.
    model = catboost.CatBoostClassifier(**settings).fit(texts, y)
    problem = make(save(model, tmp_path / f"t.{suffix}"), write(texts, y, tmp_path, "csv"))
    np.testing.assert_array_equal(ask(problem), model.predict_proba(texts))
    assert not any("is read as whole numbers" in note for note in problem.notes)


@pytest.mark.parametrize("word", ["NA", "None", ""])
def test_a_class_of_the_model_is_no_missing_label(tmp_path, word):
    y, frame = np.where(Y == 1, word, "other").astype(object), FRAME[["age"]]
    model = RandomForestClassifier(2, random_state=0).fit(frame, y)
    path = save(model, tmp_path / "m.joblib")
    problem = make(path, write(frame, y, tmp_path, "csv"))
    np.testing.assert_array_equal(problem.records.y, y)
    with pytest.raises(CommandError, match=r"'ill' has no value.*keep_default_na=false"):
        make(path, write(frame, np.where(Y == 1, "null", "other"), tmp_path, "csv"))


def test_a_class_of_the_model_may_have_one_row(tmp_path):
    y, frame = np.where(np.arange(N) == 1, "rare", "usual").astype(object), FRAME[["age"]]
    y[2:9] = "other"
    model = RandomForestClassifier(2, random_state=0).fit(frame, y)
    path = save(model, tmp_path / "m.joblib")
    problem = make(path, write(frame, y, tmp_path, "csv"))
    np.testing.assert_array_equal(problem.records.y, y)
    with pytest.raises(CommandError, match="only one row of the class 'new'"):
        make(path, write(frame, np.where(y == "rare", "new", y), tmp_path, "csv"))


@pytest.mark.parametrize("mark", ["?", -1])
def test_what_an_imputer_fills_is_no_missing_value(tmp_path, mark):
    values = ["a", "b", "c"] if isinstance(mark, str) else [5, 6, 7]
    frame = FRAME[["age"]].assign(city=np.resize([*values, mark], N))
    imputer = SimpleImputer(missing_values=mark, strategy="most_frequent")
    encoder = make_pipeline(imputer, OneHotEncoder())
    columns = make_column_transformer((encoder, ["city"]), remainder="passthrough")
    model = make_pipeline(columns, FOREST).fit(frame, Y)
    problem = make(save(model, tmp_path / "m.joblib"), write(frame, Y, tmp_path, "csv"))
    np.testing.assert_array_equal(ask(problem), model.predict_proba(frame))
    assert not any("unknown" in note for note in problem.notes)


@pytest.mark.parametrize("name", ["age", "city"])
def test_a_column_without_any_value_is_refused_if_the_model_uses_it(tmp_path, name):
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["city"]))
    frame = FRAME[["age", "city"]].assign(city=np.resize(["a", "b"], N))
    forest = make_pipeline(columns.set_params(remainder="passthrough"), FOREST)
    y = (frame["age"] > frame["age"].median()) ^ (frame["city"] == "a")
    empty = frame.assign(**{name: np.nan})
    path = save(clone(forest).fit(frame, y), tmp_path / "m.joblib")
    with pytest.raises(CommandError, match=f"'{name}' has no value in any row"):
        make(path, write(empty, y, tmp_path, "csv"))
    # One that had none in training either is none that the model uses.
    model = clone(forest).fit(empty, y)
    problem = make(save(model, path), write(empty, y, tmp_path, "csv"))
    np.testing.assert_array_equal(ask(problem), model.predict_proba(empty))
