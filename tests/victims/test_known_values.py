"""Which kinds and values of its columns a fitted model knows, and which values of a table not."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    LabelEncoder,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
    TargetEncoder,
)

from skmia.defenses import LabelOnlyDefense, TemperatureDefense
from skmia.victims import (
    KnownColumn,
    _known_values,
    keep_known_columns,
    list_known_columns,
    list_unknown_values,
    order_columns,
)

RNG = np.random.default_rng(0)
N = 60
CODES = np.tile(["00501", "02139", "94105"], 20)
FRAME = pd.DataFrame(
    {
        "age": RNG.integers(20, 80, N),
        "zip": CODES,
        "smoker": np.tile(["yes", "no"], 30),
        "income": RNG.normal(size=N),
    }
)
Y = RNG.integers(0, 2, N)
FOREST = RandomForestClassifier(3, random_state=0)


def summarize(model, names=None):
    found = list_known_columns(model, names)
    return {
        name: (one.kind, None if one.values is None else one.values.tolist())
        for name, one in found.items()
    }


def choose_names(model, names):
    """Return the names of the columns of a table after they were ordered for a model."""
    table = pd.DataFrame(np.arange(len(names))[None], columns=names)
    ordered = order_columns(model, table)
    assert ordered.iloc[0].tolist() == [names.index(name) for name in ordered.columns]
    return list(ordered.columns)


@pytest.mark.parametrize("around", [lambda model: model, make_pipeline, FrozenEstimator])
def test_columns_are_put_in_the_order_of_the_model_by_their_names(around):
    model = around(LogisticRegression().fit(FRAME[["age", "income"]], Y))
    assert choose_names(model, ["income", "age"]) == ["age", "income"]
    assert choose_names(model, ["Income", "Age"]) == ["Age", "Income"]
    rows = FRAME[["age", "income"]]
    assert order_columns(model, rows) is rows
    named = rows.set_axis(["\xe9t\xe9", "b"], axis=1)
    accented = around(LogisticRegression().fit(named, Y))  # other systems store accents apart
    assert choose_names(accented, ["b", "e\u0301te\u0301"]) == ["e\u0301te\u0301", "b"]
    array = rows.to_numpy()[:, ::-1]
    assert order_columns(model, array) is array
    for table in (rows.set_axis([1, 0], axis=1), sparse.csr_array(array)):
        assert order_columns(model, table) is table
    unnamed = around(LogisticRegression().fit(array, Y))
    assert choose_names(unnamed, ["income", "age"]) == ["income", "age"]


@pytest.mark.parametrize("names", [["f0", "f1"], ["0", "1"]])
@pytest.mark.parametrize(
    "make",
    [
        lambda: LogisticRegression(),
        lambda: make_pipeline(StandardScaler(), LogisticRegression()),
        lambda: GridSearchCV(LogisticRegression(), {}, cv=2),
        lambda: TemperatureDefense(LogisticRegression()),
        lambda: pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=1, verbose=-1),
        lambda: pytest.importorskip("xgboost").XGBClassifier(n_estimators=1),
    ],
)
def test_names_that_another_kind_of_model_would_make_up_are_those_of_the_table(make, names):
    table = FRAME[["age", "income"]].set_axis(names, axis=1)
    model = make().fit(table, Y)
    assert choose_names(model, names[::-1]) == names
    assert list(keep_known_columns(model, table[names[::-1]].assign(label=Y)).columns) == names


@pytest.mark.parametrize(
    "names, message",
    [
        (["age"], "X lacks 'income'."),
        (["age", "income", "zip"], "the model was fitted without 'zip'."),
        (["age", "zip"], "X lacks 'income' and the model was fitted without 'zip'."),
    ],
)
def test_other_columns_are_refused_unless_the_model_chooses_among_them(names, message):
    model = LogisticRegression().fit(FRAME[["age", "income"]], Y)
    with pytest.raises(ValueError, match="X must have the columns") as error:
        order_columns(model, FRAME[names])
    assert str(error.value).endswith(message)
    chooser = make_column_transformer(("passthrough", ["age"]))
    chooser = make_pipeline(chooser, LogisticRegression()).fit(FRAME[["age", "income"]], Y)
    assert order_columns(chooser, FRAME[names]).columns.tolist() == names
    searched = GridSearchCV(chooser, {}, cv=2).fit(FRAME[["age", "income"]], Y)
    assert order_columns(searched, FRAME[names]).columns.tolist() == names
    searched = GridSearchCV(LogisticRegression(), {}, cv=2).fit(FRAME[["age", "income"]], Y)
    with pytest.raises(ValueError, match="X must have the columns"):
        order_columns(searched, FRAME[names])
    function = FunctionTransformer(lambda X: X[["age"]])
    chooser = make_pipeline(function, LogisticRegression()).fit(FRAME[["age", "income"]], Y)
    assert order_columns(chooser, FRAME[names]).columns.tolist() == names
    function = FunctionTransformer(validate=True)
    checker = make_pipeline(function, LogisticRegression()).fit(FRAME[["age", "income"]], Y)
    with pytest.raises(ValueError, match="X must have the columns"):
        order_columns(checker, FRAME[names])


ENCODED = {
    "age": ("number", None),
    "zip": ("text", ["00501", "02139", "94105"]),
    "smoker": ("text", ["no", "yes"]),
    "income": ("number", None),
}
TEXTS = ["zip", "smoker"]
NUMBERS = ["age", "income"]


def encode(texts, numbers, encoder=None):
    encoder = OneHotEncoder(handle_unknown="ignore") if encoder is None else encoder
    return make_column_transformer((encoder, texts), (StandardScaler(), numbers))


PIPELINE = make_pipeline(encode(TEXTS, NUMBERS), FOREST)
CHOSEN = {
    "by name": (TEXTS, NUMBERS),
    "by position": ([1, 2], [0, -1]),
    "by mask": ([False, True, True, False], [True, False, False, True]),
    "by slice": (slice(1, 3), [0, 3]),
    "by slice of names": (slice("zip", "smoker"), NUMBERS),
    "by type": (
        make_column_selector(dtype_exclude="number"),
        make_column_selector(dtype_include="number"),
    ),
    "by function": (lambda frame: [name for name in frame if name in TEXTS], NUMBERS),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_values_of_an_encoder_are_known_by_column_however_it_is_chosen(name):
    model = make_pipeline(encode(*CHOSEN[name]), FOREST).fit(FRAME, Y)
    assert summarize(model) == ENCODED
    assert list_known_columns(model)["zip"].part == "OneHotEncoder"


AROUND = {
    "search": GridSearchCV(PIPELINE, {"randomforestclassifier__n_estimators": [2]}, cv=2),
    "vote": VotingClassifier([("a", PIPELINE)]),
    "stack": StackingClassifier([("a", PIPELINE)], cv=2),
    "calibrated": CalibratedClassifierCV(PIPELINE, cv=2),
    "nested": make_pipeline(make_pipeline(PIPELINE[0]), FOREST),
    "union": make_pipeline(make_union(PIPELINE[0], PIPELINE[0]), FOREST),
    "defense": LabelOnlyDefense(PIPELINE),
    "imputed": make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), TEXTS),
            (SimpleImputer(), NUMBERS),
        ),
        FOREST,
    ),
    "ordinal": make_pipeline(encode(TEXTS, NUMBERS, OrdinalEncoder()), FOREST),
    "target": make_pipeline(encode(TEXTS, NUMBERS, TargetEncoder(cv=2)), FOREST),
    "imputed before": make_pipeline(
        make_column_transformer(
            (SimpleImputer(strategy="most_frequent"), TEXTS), remainder="passthrough"
        ),
        make_column_transformer((OneHotEncoder(), [0, 1]), remainder=StandardScaler()),
        FOREST,
    ),
}


def test_values_are_known_inside_a_frozen_model():
    assert summarize(FrozenEstimator(clone(PIPELINE).fit(FRAME, Y))) == ENCODED


@pytest.mark.parametrize("name", AROUND)
def test_values_are_known_inside_other_models(name):
    assert summarize(AROUND[name].fit(FRAME, Y)) == ENCODED


def test_members_of_a_bag_know_their_columns():
    numbers = make_pipeline(StandardScaler(), LogisticRegression())
    bag = BaggingClassifier(numbers, 5, max_features=0.5, random_state=0)
    bag.fit(FRAME[NUMBERS], Y)
    assert summarize(bag) == {"age": ("number", None), "income": ("number", None)}
    stumps = AdaBoostClassifier(n_estimators=3).fit(FRAME[NUMBERS], Y)
    assert summarize(stumps) == {"age": ("number", None), "income": ("number", None)}


def test_models_without_names_know_columns_by_position_or_by_names_that_are_given():
    forest = FOREST.fit(FRAME[NUMBERS].to_numpy(), Y)
    assert summarize(forest) == {0: ("number", None), 1: ("number", None)}
    assert [*list_known_columns(forest, NUMBERS)] == NUMBERS


def test_a_selection_hands_its_columns_on():
    model = make_pipeline(VarianceThreshold(), StandardScaler(), FOREST).fit(FRAME[NUMBERS], Y)
    assert [one.kind for one in list_known_columns(model).values()] == ["number", "number"]
    # What is behind the selection knows the columns that are left, under their own names.
    codes = pd.DataFrame(
        {"a": 3, "b": np.arange(len(Y)) % 3, "c": 7, "d": 5 + np.arange(len(Y)) % 2}
    )
    model = make_pipeline(VarianceThreshold(), OneHotEncoder(), FOREST).fit(codes, Y)
    found = {name: one.values for name, one in list_known_columns(model).items()}
    assert list(found["b"]) == [0, 1, 2] and list(found["d"]) == [5, 6]


def test_a_function_hides_values_but_not_that_a_column_is_text():
    as_text = FunctionTransformer(lambda frame: frame.astype(str))
    model = make_pipeline(as_text, OneHotEncoder(), FOREST).fit(FRAME[["age"]], Y)
    assert summarize(model) == {"age": (None, None)}
    ravel = FunctionTransformer(np.ravel)
    texts = make_pipeline(ravel, CountVectorizer(), FOREST).fit(FRAME[["zip"]], Y)
    assert summarize(texts, ["zip"]) == {"zip": ("text", None)}


def test_categories_of_histogram_boosting_are_given_in_their_order():
    frame = FRAME[["age", "smoker"]].astype({"smoker": "category"})
    frame["code"] = pd.Categorical(np.tile([3, 1, 2], 20))
    known = list_known_columns(HistGradientBoostingClassifier(max_iter=2).fit(frame, Y))
    assert known["age"] == KnownColumn("number", part="HistGradientBoostingClassifier")
    assert known["smoker"].dtype == pd.CategoricalDtype(["no", "yes"])
    assert known["code"].values.tolist() == [1, 2, 3]
    assert known["code"].dtype == pd.CategoricalDtype([1, 2, 3])


def test_codes_by_position_stay_numbers_for_histogram_boosting():
    X = np.column_stack([np.tile([0, 1, 2], 20), FRAME["income"]])
    model = HistGradientBoostingClassifier(max_iter=2, categorical_features=[0]).fit(X, Y)
    known = list_known_columns(model)
    assert known[0].kind == "number" and known[0].dtype is None
    assert known[0].values.tolist() == [0, 1, 2]


CATEGORIES = {
    "smoker": pd.CategoricalDtype(["yes", "no", "never"]),
    "zip": pd.CategoricalDtype(["94105", "00501", "02139"]),
}


@pytest.mark.filterwarnings("ignore:.*booster=dart")  # deprecated in xgboost 3.4
def test_categories_of_xgboost_are_given_in_their_order(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    frame = FRAME.astype(CATEGORIES)
    frame["group"] = pd.Categorical(np.tile([3, 1], 30), categories=[3, 1])
    model = xgboost.XGBClassifier(n_estimators=2, enable_categorical=True).fit(frame, Y)
    known = list_known_columns(model)
    assert known["age"].kind == "number" and known["age"].dtype is None
    if known["smoker"].values is None:  # version 2 stores none
        assert known["smoker"].dtype == pd.CategoricalDtype()
        return
    assert {name: known[name].dtype for name in CATEGORIES} == CATEGORIES
    assert known["group"].values.tolist() == [3, 1]
    for booster in ("gbtree", "dart"):
        model.set_params(booster=booster).fit(frame, Y).save_model(tmp_path / "m.ubj")
        loaded = xgboost.XGBClassifier()
        loaded.load_model(tmp_path / "m.ubj")
        known = list_known_columns(loaded)
        assert {name: known[name].dtype for name in CATEGORIES} == CATEGORIES


def test_codes_of_an_array_stay_numbers_for_xgboost():
    xgboost = pytest.importorskip("xgboost")
    X = np.column_stack([np.tile([0, 1, 2], 20), FRAME["income"]])
    settings = {"enable_categorical": True, "feature_types": ["c", "q"]}
    model = xgboost.XGBClassifier(n_estimators=2, **settings).fit(X, Y)
    assert summarize(model) == {0: ("number", None), 1: ("number", None)}


@pytest.mark.parametrize("ordered", [False, True])
def test_categories_of_lightgbm_are_given_in_their_order(ordered, monkeypatch):
    lightgbm, read = pytest.importorskip("lightgbm"), []
    load = _known_values.load_lightgbm
    monkeypatch.setattr(_known_values, "load_lightgbm", lambda one: read.append(one) or load(one))
    smoker = pd.CategoricalDtype(["yes", "no", "never"], ordered=ordered)
    frame = FRAME.astype(CATEGORIES | {"smoker": smoker})
    model = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1).fit(frame, Y)
    known = list_known_columns(model)
    assert known["zip"].dtype == CATEGORIES["zip"]
    assert known["smoker"].dtype == pd.CategoricalDtype(["yes", "no", "never"], ordered)
    assert known["income"] == KnownColumn("number", part="LGBMClassifier")
    assert read == [model]  # all trees, not again for each column


def test_columns_of_catboost_are_categories_texts_or_numbers():
    catboost = pytest.importorskip("catboost")
    settings = {"iterations": 2, "verbose": 0, "allow_writing_files": False}
    model = catboost.CatBoostClassifier(cat_features=TEXTS, **settings).fit(FRAME, Y)
    assert {name: one.kind for name, one in list_known_columns(model).items()} == {
        "age": "number",
        "zip": "text",
        "smoker": "text",
        "income": "number",
    }


NOTES = np.tile(["fever and cough", "chest pain", "rash"], 20)


@pytest.mark.parametrize(
    "vectorizer", [TfidfVectorizer(), CountVectorizer(), HashingVectorizer(n_features=64)]
)
def test_the_column_of_a_text_model_is_text(vectorizer):
    model = make_pipeline(vectorizer, LogisticRegression()).fit(NOTES, Y)
    assert summarize(model) == {0: ("text", None)}
    assert summarize(model, ["note"]) == {"note": ("text", None)}


def test_the_text_among_other_columns_is_text():
    frame = FRAME[["age"]].assign(note=NOTES)
    columns = make_column_transformer((TfidfVectorizer(), "note"), remainder="passthrough")
    model = make_pipeline(columns, LogisticRegression()).fit(frame, Y)
    assert summarize(model) == {"age": ("number", None), "note": ("text", None)}


class Foreign(TransformerMixin, BaseEstimator):
    """Step of a class that nobody knows, whose attributes cannot be read."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return pd.DataFrame({"age": X["age"]})

    @property
    def categories_(self):
        raise RuntimeError("not to be read")

    def __sklearn_is_fitted__(self):
        return True


class Wrapped(ClassifierMixin, BaseEstimator):
    """Model of a class that nobody knows, around one that gets other columns."""

    def fit(self, X, y):
        self.feature_names_in_ = np.array(X.columns, dtype=object)
        self.estimator_ = clone(FOREST).fit(X.apply(lambda column: pd.factorize(column)[0]), y)
        return self

    def predict(self, X):
        return self.estimator_.predict(X.apply(lambda column: pd.factorize(column)[0]))


def test_a_class_that_nobody_knows_may_do_anything_with_its_columns():
    assert list_known_columns(Wrapped().fit(FRAME, Y)) == {}
    assert list_known_columns(make_pipeline(Wrapped()).fit(FRAME, Y)) == {}


def test_a_part_that_cannot_be_read_says_nothing():
    model = make_pipeline(Foreign(), FOREST).fit(FRAME, Y)
    assert list_known_columns(model) == {}
    assert list_unknown_values(model, FRAME) == []


def test_values_that_a_model_does_not_know_are_counted():
    model = make_pipeline(encode(TEXTS, NUMBERS), FOREST).fit(FRAME, Y)
    assert list_unknown_values(model, FRAME) == []
    table = FRAME.astype({"smoker": object})
    table.loc[:9, "smoker"], table.loc[10:14, "smoker"] = " yes", None
    table.loc[15, "smoker"] = "No"
    found, missing = list_unknown_values(model, table[::-1])
    assert found.column == "smoker" and found.part == "OneHotEncoder"
    assert (found.n_unknown, found.n_missing, found.n_distinct) == (11, 5, 4)
    assert found.share == 11 / 55
    assert found.unknown == (" yes", "No") and found.known == ("no", "yes")
    assert missing.is_missing and (missing.n_unknown, missing.share) == (5, 5 / 60)


@pytest.mark.parametrize("changed", [" t59 ", "T59"])
def test_values_that_are_meant_are_the_first_that_are_shown(changed):
    towns = pd.DataFrame({"town": [f"t{k:02}" for k in range(60)]})
    model = make_pipeline(OneHotEncoder(), FOREST).fit(towns, Y)
    towns.loc[59, "town"] = changed
    (found,) = list_unknown_values(model, towns)
    assert found.unknown == (changed,) and found.known[0] == "t59"


def test_numbers_are_known_however_they_are_stored():
    model = make_pipeline(OneHotEncoder(), FOREST)
    model.fit(pd.DataFrame({"a": np.tile([1, 2, 3], 20)}), Y)
    assert list_unknown_values(model, pd.DataFrame({"a": [1.0, 2.0, 3.0]})) == []
    (found,) = list_unknown_values(model, pd.DataFrame({"a": ["1", "2"]}))
    assert found.share == 1 and found.unknown == ("1", "2") and found.known == (1, 2, 3)


def test_an_array_is_compared_by_position():
    model = make_pipeline(OrdinalEncoder(), FOREST).fit(FRAME[TEXTS].to_numpy(), Y)
    (found,) = list_unknown_values(model, FRAME[TEXTS[::-1]].to_numpy()[:, [0, 0]])
    assert found.column == 0 and found.unknown == ("yes", "no")


def test_one_column_is_compared_and_what_has_no_columns_is_not():
    model = make_pipeline(OrdinalEncoder(), FOREST).fit(FRAME[["smoker"]], Y)
    column = pd.Series(["maybe", "yes", "maybe", None, "no"], name="smoker")
    found, missing = list_unknown_values(model, column)
    assert (found.column, found.unknown, found.n_unknown) == ("smoker", ("maybe",), 2)
    assert (found.share, found.n_missing, found.n_distinct) == (0.5, 1, 3)
    assert (missing.is_missing, missing.share, missing.n_unknown) == (True, 0.2, 1)
    (found,) = list_unknown_values(model, np.array(["maybe", "no"], dtype=object))
    assert (found.column, found.unknown) == (0, ("maybe",))
    model = make_pipeline(OneHotEncoder(), FOREST).fit(np.zeros((60, 2)), Y)
    assert len(list_unknown_values(model, np.ones((3, 2)))) == 2
    assert list_unknown_values(model, sparse.csr_array(np.ones((3, 2)))) == []
    assert list_unknown_values(model, np.ones((3, 2, 2))) == []


def test_an_encoder_of_labels_knows_its_column():
    assert summarize(LabelEncoder().fit(["b", "a"])) == {0: ("text", ["a", "b"])}
    assert summarize(LabelEncoder().fit([3, 1, 2])) == {0: ("number", [1, 2, 3])}
    behind = make_pipeline(FunctionTransformer(np.ravel), LabelEncoder())
    behind.steps[1][1].fit(["b", "a"])
    assert summarize(behind, ["a"]) == {}
    assert summarize(behind, ["a", "b"]) == {}


def test_texts_without_any_known_word_are_counted():
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(NOTES, Y)
    (found,) = list_unknown_values(model, np.array(["Fever", "fievre", "toux"], dtype=object))
    assert found.share == 2 / 3 and set(found.unknown) == {"fievre", "toux"}
    hashing = make_pipeline(HashingVectorizer(n_features=64), LogisticRegression()).fit(NOTES, Y)
    assert list_unknown_values(hashing, np.array(["fievre"], dtype=object)) == []
