"""Values that are rebuilt from a model without candidates are those of its training data."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
    StackingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import RFE, SelectKBest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import RegressorChain
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia.inspection import inspect_model, reconstruct_values
from skmia.inspection._reconstruct import rebuild_values

N = 300
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "height": RNG.normal(170, 8, 2 * N),
        "age": RNG.integers(18, 80, 2 * N),
        "grade": RNG.integers(10, 41, 2 * N) / 10,
        "city": RNG.choice(["Rome", "Oslo", "Lima"], 2 * N),
    }
)
LABELS = (TABLE["age"] > 40).astype(int).to_numpy()
TARGETS = (TABLE["age"] + RNG.normal(size=2 * N)).to_numpy()
MEMBERS, OTHERS = TABLE[:N], TABLE[N:]
NUMBERS = ["height", "age", "grade"]
COINS = np.random.default_rng(0).integers(2, size=N)


def rebuild(model):
    return reconstruct_values(model).to_frame()


def select(frame, column, how):
    chosen = frame["column"].isna() if column is None else frame["column"] == column
    return frame.loc[chosen & (frame["how"] == how)]


def share_found(values, table):
    return np.isin(np.asarray(values, dtype=float), table).mean()


@pytest.mark.parametrize("n_values", [3, 30, 200])
@pytest.mark.parametrize("decimals", [0, 1, 2])
def test_middles_on_a_grid_give_all_values(n_values, decimals):
    rng = np.random.default_rng(n_values)
    wrong = 0
    for _ in range(50):
        values = np.unique(rng.integers(0, 2 * n_values, n_values)) / 10**decimals
        rebuilt = rebuild_values((values[1:] + values[:-1]) / 2)
        wrong += rebuilt is not None and not np.allclose(rebuilt, values, atol=1e-9)
    assert wrong == 0


def test_middles_that_leave_several_sets_give_none():
    assert rebuild_values(np.array([10.0, 30.0, 50.0])) is None
    assert rebuild_values(np.array([0.1234567, 1.7, 2.9])) is None
    np.testing.assert_array_equal(rebuild_values(np.array([0.5, 1.5, 3.0])), [0, 1, 2, 4])


def test_quantiles_on_a_grid_are_not_taken_for_middles():
    rng, n_rebuilt = np.random.default_rng(0), 0
    for _ in range(30):
        column = np.round(np.exp(rng.normal(3, 2, 3000)))
        edges = np.percentile(column, np.linspace(0, 100, 256)[1:-1], method="midpoint")
        n_rebuilt += rebuild_values(np.unique(edges)) is not None
    assert n_rebuilt == 0


@pytest.mark.parametrize(
    "scaler", [None, StandardScaler(), MinMaxScaler(), RobustScaler()], ids=str
)
def test_histograms_give_all_values_of_coarse_columns_by_name(scaler):
    boosting = HistGradientBoostingClassifier(max_iter=2)
    model = make_pipeline(scaler, boosting) if scaler else boosting
    frame = rebuild(model.fit(MEMBERS[NUMBERS], LABELS[:N]))
    for name in ("age", "grade"):
        # The extremes may be known exactly.
        found = frame.loc[(frame["column"] == name) & (frame["how"] != "edge"), "value"]
        found = np.sort(found.to_numpy(dtype=float))
        np.testing.assert_allclose(found, np.unique(MEMBERS[name]), rtol=0, atol=1e-9)


def test_histograms_give_values_of_a_column_with_many():
    model = HistGradientBoostingClassifier(max_iter=2).fit(MEMBERS[["height"]], LABELS[:N])
    edges = select(rebuild(model), "height", "edge")["value"]
    # 300 distinct values and 254 edges: of quantiles, many are halfway between two.
    is_value = share_found(edges, MEMBERS["height"])
    assert len(edges) == 254
    assert is_value > 0.1
    assert share_found(edges, OTHERS["height"]) == 0


def test_quantiles_of_a_few_bins_are_not_taken_for_middles():
    # Eleven bins for 90 to 130 values: in some columns a single set of values has these middles.
    rng = np.random.default_rng(0)
    table = np.round(rng.lognormal(1, 1, size=(300, 40)), 1)
    model = HistGradientBoostingRegressor(max_iter=1, max_bins=11).fit(table, table[:, 0])
    assert any(rebuild_values(one) is not None for one in model._bin_mapper.bin_thresholds_)
    assert set(rebuild(model)["how"]) == {"edge"}
    few = np.round(table, 0).clip(max=9)  # ten values
    model.fit(few, few[:, 0])
    found = select(rebuild(model), "x0", "derived")["value"]
    assert sorted(found) == sorted(np.unique(few[:, 0]))


def test_all_columns_of_law_school_are_rebuilt(shared_data):
    table = pd.read_csv(shared_data / "law_school.csv.gz").select_dtypes("number")[:1000]
    X, y = table.drop(columns="cluster"), table["cluster"]
    frame = rebuild(HistGradientBoostingClassifier(max_iter=2).fit(X, y))
    for name in X:
        found = select(frame, name, "derived")["value"].astype(float)
        several = X[name].nunique() > 2
        assert not several or set(found.round(9)) == set(X[name].astype(float).round(9))


def make_columns(last):
    scaled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    columns = make_column_transformer((scaled, NUMBERS), (OneHotEncoder(), ["city"]))
    return make_pipeline(columns, last)


def test_names_and_values_come_through_pipelines_and_columns():
    frame = rebuild(make_columns(KNeighborsClassifier()).fit(MEMBERS, LABELS[:N]))
    assert set(frame["column"]) == set(TABLE)
    for name in NUMBERS:
        found = select(frame, name, "derived")["value"].astype(float)
        assert len(found) == MEMBERS[name].nunique()
        near = np.sort(np.unique(MEMBERS[name]))
        np.testing.assert_allclose(np.sort(found), near, rtol=1e-9)
    assert set(select(frame, "city", "exact")["value"]) == {"Rome", "Oslo", "Lima"}


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        StandardScaler(with_mean=False, with_std=False),
        RobustScaler(),
        RobustScaler(with_centering=False),
        RobustScaler(with_scaling=False),
        MaxAbsScaler(),
        MinMaxScaler(feature_range=(1, 3)),
        FunctionTransformer(),
    ],
    ids=str,
)
def test_scaled_values_are_those_of_the_table(scaler):
    table = np.array([[0.5, 1.0], [2.0, 5.0], [7.0, 3.0], [9.0, -3.0]])
    frame = rebuild(make_pipeline(scaler, KNeighborsClassifier(1)).fit(table, [0, 1, 0, 1]))
    for k in range(2):
        found = frame.loc[(frame["column"] == f"x{k}") & (frame["how"] != "edge"), "value"]
        assert set(found.astype(float)) == set(table[:, k])


def test_records_with_a_value_are_counted():
    frame = rebuild(KNeighborsClassifier().fit(MEMBERS[["age"]], LABELS[:N]))
    told = frame.set_index("value")["n_records"].astype(int)
    expected = MEMBERS["age"].value_counts()
    assert told.sort_index().tolist() == expected.sort_index().tolist()


def test_a_search_is_looked_into():
    search = GridSearchCV(make_columns(SVC()), {"svc__C": [1, 2]}, cv=2)
    frame = rebuild(search.fit(MEMBERS, LABELS[:N]))
    assert {"age", "city"} <= set(frame["column"])


def test_members_of_a_bag_have_columns_of_their_own():
    from sklearn.ensemble import BaggingClassifier

    bag = BaggingClassifier(KNeighborsClassifier(), max_features=1, random_state=0)
    frame = rebuild(bag.fit(MEMBERS[NUMBERS], LABELS[:N]))
    for name, some in frame.groupby("column"):
        assert share_found(some["value"], MEMBERS[name]) == 1


@pytest.mark.parametrize(
    "model, least",
    [
        (DecisionTreeRegressor(), 1.0),
        (ExtraTreesRegressor(3, random_state=0), 1.0),
        (RandomForestRegressor(3, random_state=0), 0.8),
    ],
    ids=["tree", "extra trees", "forest"],
)
def test_targets_of_leaves_with_one_record(model, least):
    frame = rebuild(model.fit(MEMBERS[NUMBERS], TARGETS[:N]))
    assert len(frame) >= least * N
    exact = select(frame, None, "exact")["value"]
    assert len(exact) >= least * N / 2
    assert share_found(exact, TARGETS[:N]) == 1
    assert share_found(exact, TARGETS[N:]) == 0
    derived = select(frame, None, "derived")["value"].astype(float)
    assert set(derived.round(9)) <= set(TARGETS[:N].round(9))


def test_transformed_targets_are_transformed_back():
    inner = DecisionTreeRegressor(random_state=0)
    model = TransformedTargetRegressor(inner, func=np.log, inverse_func=np.exp)
    values = rebuild(model.fit(MEMBERS[NUMBERS], TARGETS[:N]))["value"].astype(float)
    np.testing.assert_allclose(np.sort(values), np.sort(TARGETS[:N]), rtol=1e-9)


@pytest.mark.parametrize("shape", [(60,), (60, 1)])
@pytest.mark.parametrize(
    "model",
    [
        KNeighborsRegressor(),
        GaussianProcessRegressor(optimizer=None, alpha=0.1),
        GaussianProcessRegressor(optimizer=None, alpha=0.1, normalize_y=True),
    ],
    ids=["neighbors", "process", "scaled"],
)
def test_targets_that_are_stored_with_rows(model, shape):
    targets = TARGETS[:60].round(2)
    frame = rebuild(model.fit(MEMBERS[NUMBERS][:60], targets.reshape(shape)))
    how = "derived" if getattr(model, "normalize_y", False) else "exact"
    found = select(frame, None, how)
    values, counts = np.unique(targets, return_counts=True)
    np.testing.assert_array_equal(found["value"].astype(float), values)
    np.testing.assert_array_equal(found["n_records"], counts)


def test_several_targets_for_each_row_give_none():
    targets = np.column_stack([TARGETS[:60]] * 2)
    for model in (KNeighborsRegressor(), GaussianProcessRegressor(normalize_y=True)):
        frame = rebuild(model.fit(MEMBERS[NUMBERS][:60], targets))
        assert len(frame) and frame["column"].notna().all()


@pytest.mark.parametrize(
    "model",
    [GradientBoostingRegressor(n_estimators=3), RandomTreesEmbedding(3), RandomForestClassifier(3)],
    ids=["residuals", "random", "classes"],
)
def test_trees_on_other_targets_give_none(model):
    y = LABELS if isinstance(model, RandomForestClassifier) else TARGETS
    assert rebuild(model.fit(MEMBERS[NUMBERS], y[:N])).empty


def test_boosters_give_values_in_single_precision():
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRegressor(n_estimators=30, n_jobs=1).fit(MEMBERS[NUMBERS], TARGETS[:N])
    values = select(rebuild(model), "height", "exact")["value"]
    assert len(values) > 30
    assert share_found(values, MEMBERS["height"].astype(np.float32)) == 1
    assert share_found(values, OTHERS["height"].astype(np.float32)) == 0


def test_boosters_of_other_methods_and_splits_on_categories_are_left_out():
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRegressor(n_estimators=3, tree_method="exact", n_jobs=1)
    assert rebuild(model.fit(MEMBERS[NUMBERS], TARGETS[:N])).empty
    table = MEMBERS[["age", "city"]].astype({"city": "category"})
    codes = MEMBERS["city"].astype("category").cat.codes
    model = xgboost.XGBRegressor(n_estimators=3, enable_categorical=True, n_jobs=1)
    assert rebuild(model.fit(table, codes % 3 == 1)).empty


def test_leaves_of_several_targets_give_none():
    model = DecisionTreeRegressor().fit(MEMBERS[NUMBERS], np.column_stack([TARGETS[:N]] * 2))
    assert rebuild(model).empty


def test_categories_are_exact_unless_they_were_given():
    frame = rebuild(OrdinalEncoder().fit(MEMBERS[["city"]]))
    assert set(frame["value"]) == {"Rome", "Oslo", "Lima"}
    public = OrdinalEncoder(categories=[["Lima", "Oslo", "Quito", "Rome"]])
    assert rebuild(public.fit(MEMBERS[["city"]])).empty


def test_categories_inside_of_histogram_boosting_have_their_column():
    table = MEMBERS[["age", "city"]].astype({"city": "category"})
    model = HistGradientBoostingRegressor(max_iter=2, categorical_features="from_dtype")
    frame = rebuild(model.fit(table, TARGETS[:N]))
    assert set(select(frame, "city", "exact")["value"]) == {"Rome", "Oslo", "Lima"}


@pytest.mark.parametrize(
    "model",
    [
        QuantileTransformer(n_quantiles=N),
        MinMaxScaler(),
        KBinsDiscretizer(5, strategy="uniform"),
        SimpleImputer(strategy="most_frequent"),
    ],
    ids=["quantiles", "extremes", "bins", "mode"],
)
def test_what_transformers_call_exact_is_exact(model):
    frame = rebuild(model.fit(MEMBERS[["height"]]))
    exact = select(frame, "height", "exact")["value"]
    assert len(exact)
    assert share_found(exact, MEMBERS["height"]) == 1
    assert share_found(exact, OTHERS["height"]) == 0


def test_quantiles_of_all_records_are_their_values():
    frame = rebuild(QuantileTransformer(n_quantiles=N).fit(MEMBERS[["height"]]))
    edges = select(frame, "height", "edge")["value"]
    assert share_found(edges, MEMBERS["height"]) > 0.6
    assert share_found(edges, OTHERS["height"]) == 0


def test_words_are_listed():
    frame = rebuild(CountVectorizer().fit(["ann smith", "bob"]))
    assert set(frame["value"]) == {"ann", "bob", "smith"}
    assert rebuild(CountVectorizer(vocabulary=["ann"]).fit(["ann", "bob"])).empty


def test_sparse_rows_are_read_by_column():
    X = sparse.csr_matrix(MEMBERS[["age", "grade"]].to_numpy())
    frame = rebuild(KNeighborsClassifier().fit(X, LABELS[:N]))
    assert set(select(frame, "x0", "exact")["value"]) == set(MEMBERS["age"])


def test_unknown_steps_do_not_lend_their_columns_the_names_of_the_table():
    from sklearn.decomposition import PCA

    model = make_pipeline(PCA(2), KNeighborsClassifier()).fit(MEMBERS[NUMBERS], LABELS[:N])
    assert set(rebuild(model)["column"]) == {"pca0", "pca1"}


CODED = make_pipeline(
    make_column_transformer((OrdinalEncoder(), [2, 1]), ("passthrough", [0])),
    KNeighborsClassifier(),
)
OTHER_VALUES = {
    "power": make_pipeline(PowerTransformer(), KNeighborsClassifier()),
    "codes": CODED,
    "function": make_pipeline(FunctionTransformer(np.log1p), KNeighborsClassifier()),
    "named function": make_pipeline(
        FunctionTransformer(np.log1p, feature_names_out="one-to-one"), KNeighborsClassifier()
    ),
    "scaled targets": TransformedTargetRegressor(Ridge(), transformer=MinMaxScaler()),
    "quantiles of targets": TransformedTargetRegressor(
        Ridge(), transformer=make_pipeline(StandardScaler(), QuantileTransformer(n_quantiles=9))
    ),
    "scores": CalibratedClassifierCV(LogisticRegression(), method="isotonic", cv=2),
    "stack": StackingClassifier([("t", DecisionTreeClassifier(max_depth=3))], SVC(), cv=2),
    "stack with columns": StackingClassifier(
        [("t", DecisionTreeClassifier(max_depth=3))], SVC(), cv=2, passthrough=True
    ),
    "chain": RegressorChain(KNeighborsRegressor()),
    "eliminated columns": RFE(SVC(kernel="linear"), n_features_to_select=2),
    "selected columns": make_pipeline(StandardScaler(), SelectKBest(k=2), KNeighborsClassifier()),
    "added columns": make_pipeline(PolynomialFeatures(), KNeighborsClassifier()),
    "imputed columns": make_pipeline(
        SimpleImputer(add_indicator=True), StandardScaler(), KNeighborsClassifier()
    ),
    "ordered tree": DecisionTreeRegressor(monotonic_cst=[1, -1, 1]),
    "ordered forest": RandomForestRegressor(3, monotonic_cst=np.array([1, -1, 1]), random_state=0),
}


@pytest.mark.parametrize("is_frame", [True, False], ids=["frame", "array"])
@pytest.mark.parametrize("name", OTHER_VALUES)
def test_what_is_told_of_a_column_or_of_the_targets_occurs_there(name, is_frame):
    model, X, y = clone(OTHER_VALUES[name]), MEMBERS[NUMBERS][:80], COINS[:80]
    if is_regressor(model):
        y = np.column_stack([TARGETS, 2 * TARGETS])[:80] if name == "chain" else TARGETS[:80]
    frame = rebuild(model.fit(X if is_frame else X.to_numpy(), y))
    known = {None: np.ravel(y)}
    known |= {c if is_frame else f"x{k}": X[c].to_numpy() for k, c in enumerate(NUMBERS)}
    sure = frame[frame["how"] != "edge"]
    n_told = 0
    for column, values in known.items():
        of_column = sure["column"].isna() if column is None else sure["column"] == column
        found = sure.loc[of_column, "value"].astype(float)
        n_told += len(found)
        assert np.isin(found.round(8), values.round(8)).all()
    tells = "codes", "targets", "columns", "chain"
    assert (n_told > 0) == any(word in name for word in tells)
    assert "ordered" not in name or set(frame["how"]) == {"edge"}


def test_values_after_a_step_have_another_name():
    frame = rebuild(clone(OTHER_VALUES["power"]).fit(MEMBERS[NUMBERS], LABELS[:N]))
    assert set(frame["column"]) == {f"{name} after PowerTransformer" for name in NUMBERS}
    frame = rebuild(clone(OTHER_VALUES["stack with columns"]).fit(MEMBERS[NUMBERS], COINS))
    assert set(frame["column"]) == {"final_estimator_: x0", *NUMBERS}


def test_repeated_rows_of_a_bag_are_not_counted():
    X, y = MEMBERS[NUMBERS][:80], TARGETS[:80]
    for bag, are_counted in (
        (BaggingRegressor(KNeighborsRegressor(), 2), False),
        (BaggingRegressor(KNeighborsRegressor(), 2, bootstrap=False), True),
        (BaggingRegressor(DecisionTreeRegressor(), 2), True),
        (AdaBoostRegressor(DecisionTreeRegressor(), n_estimators=2), False),
    ):
        counts = rebuild(bag.fit(X, y))["n_records"]
        assert len(counts) and counts.notna().all() == counts.notna().any() == are_counted


def test_what_an_imputer_fills_in_first_is_a_value_of_its_column():
    table = MEMBERS[NUMBERS][:80].mask(np.arange(240).reshape(80, 3) % 7 == 0)
    model = IterativeImputer(initial_strategy="most_frequent", max_iter=0).fit(table)
    frame = rebuild(model)
    for name in NUMBERS:
        assert frame.loc[frame["column"] == name, "value"].tolist() == [table[name].mode()[0]]


def test_attributes_that_a_damaged_file_lacks_do_not_stop_the_rest():
    X, y = MEMBERS[NUMBERS][:80], COINS[:80]
    bag = BaggingRegressor(KNeighborsRegressor(), 2).fit(X, y)
    chosen = make_pipeline(SelectKBest(k=2), KNeighborsClassifier()).fit(X, y)
    eliminated = RFE(SVC(kernel="linear"), n_features_to_select=2).fit(X, y)
    del bag.estimator_, chosen[0].scores_, eliminated.support_
    for model in (bag, chosen, eliminated):
        assert len(rebuild(model))


def test_passthrough_and_dropped_columns_keep_the_order():
    parts = [("kept", "passthrough", ["grade"]), ("gone", "drop", ["height"])]
    columns = ColumnTransformer(parts, remainder=MinMaxScaler())
    model = make_pipeline(columns, KNeighborsClassifier())
    frame = rebuild(model.fit(MEMBERS[NUMBERS], LABELS[:N]))
    assert set(select(frame, "grade", "exact")["value"]) == set(MEMBERS["grade"])
    known = frame.loc[frame["column"] == "age", "value"].astype(float)
    assert set(known.round(9)) == set(MEMBERS["age"])
    assert "height" not in set(frame["column"])


@pytest.mark.parametrize(
    "chosen",
    [slice("age", "grade"), slice("age", None), slice(1, None), [False, True, True], [-2, 2]],
    ids=str,
)
def test_columns_are_chosen_as_scikit_learn_takes_them(chosen):
    model = ColumnTransformer([("kept", MinMaxScaler(), chosen)]).fit(MEMBERS[NUMBERS])
    assert set(rebuild(model)["column"]) == {"age", "grade"}
    assert "MinMaxScaler" in inspect_model(model).summary()


def test_parts_of_a_union_get_all_columns():
    encoders = FeatureUnion([("codes", OrdinalEncoder()), ("bits", OneHotEncoder())])
    frame = rebuild(encoders.fit(MEMBERS[["city", "grade"]]))
    assert set(frame["column"]) == {"city", "grade"}
    assert set(frame.loc[frame["column"] == "city", "value"]) == {"Rome", "Oslo", "Lima"}


def test_models_that_keep_no_value_give_an_empty_frame():
    found = reconstruct_values(LogisticRegression().fit(MEMBERS[["age"]], LABELS[:N]))
    assert found.to_frame().empty
    assert found.to_frame().columns.tolist() == ["column", "value", "how", "n_records", "path"]
    assert found.count_by_column().empty
    assert "does not show which values belong to the same record" in str(found)


def test_the_summary_counts_by_column():
    found = reconstruct_values(make_columns(KNeighborsClassifier()).fit(MEMBERS, LABELS[:N]))
    counts = found.count_by_column()
    assert counts.loc["age", "derived"] == MEMBERS["age"].nunique()
    assert counts.loc["city", "exact"] == 3
    assert any(line.endswith("  city") for line in found.summary().splitlines())
    assert "Only stored rows show which values" in found.summary()


def test_what_was_not_fitted_is_refused():
    with pytest.raises(NotFittedError, match="must be fitted"):
        reconstruct_values(SVC())


def test_names_of_columns_stay_on_their_line():
    table = MEMBERS[["age"]].rename(columns={"age": "a\nNo leakage\x1b[2J"})
    found = reconstruct_values(KNeighborsClassifier().fit(table, LABELS[:N]))
    assert "\nNo" not in found.summary()
    assert "\x1b" not in found.summary()


def test_a_stripped_file_is_described_as_such():
    from skmia.defenses import strip_state

    model = RandomForestClassifier(3, random_state=0).fit(MEMBERS[NUMBERS], LABELS[:N])
    with pytest.warns(UserWarning):
        inspection = inspect_model(strip_state(model))
    assert inspection.n_rows is None
    assert "counts" not in set(inspection.to_frame()["kind"])
    assert inspection.findings[0].stores.startswith("Counts and sums of nodes were removed.")


def test_a_forged_number_of_columns_takes_no_memory():
    model = KBinsDiscretizer(3, strategy="uniform").fit(MEMBERS[["age"]].to_numpy())
    model.n_features_in_ = 2**70
    assert set(rebuild(model)["column"]) == {"x0"}
