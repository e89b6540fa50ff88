"""A model from a file is checked before it answers: what is in order passes, what is forged not."""

import copy
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia.cli._damaged_models import DamagedModelError, check_foreign, check_parts

X, Y = make_classification(90, 6, n_informative=4, n_classes=3, random_state=0)
Y2 = (Y > 0).astype(int)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(random_state=0),
        DecisionTreeClassifier(max_leaf_nodes=5, random_state=0),
        DecisionTreeRegressor(max_depth=1, random_state=0),
        RandomForestClassifier(5, random_state=0),
        RandomForestRegressor(5, random_state=0),
        ExtraTreesClassifier(5, random_state=0),
        GradientBoostingClassifier(n_estimators=50, n_iter_no_change=2, random_state=0),
        HistGradientBoostingClassifier(max_iter=5),
        HistGradientBoostingClassifier(max_iter=5, categorical_features=[0]),
        AdaBoostClassifier(n_estimators=50, random_state=0),
        BaggingClassifier(n_estimators=5, max_features=0.5, random_state=0),
        IsolationForest(n_estimators=5, max_features=3),
        KNeighborsClassifier(algorithm="kd_tree"),
        KNeighborsClassifier(algorithm="ball_tree"),
        SVC(),
        SVR(),
        LinearSVC(),
        make_pipeline(StandardScaler(), RandomForestClassifier(3, random_state=0)),
    ],
    ids=str,
)
@pytest.mark.parametrize("y", [Y, Y2], ids=["three", "two"])
def test_fitted_models_pass(model, y):
    table = np.column_stack([np.arange(len(X)) % 7, X[:, 1:]])
    check_foreign(model.fit(table, y))


def test_sparse_models_pass():
    check_foreign(SVC().fit(sparse.csr_matrix(X), Y))


def test_functions_with_arguments_are_those_of_a_trusted_file_alone():
    step = FunctionTransformer(partial(np.clip, a_min=0, a_max=1))
    model = make_pipeline(step, LogisticRegression()).fit(X, Y)
    check_parts(model)  # of a pickle that is trusted, as those of skorch nets
    with pytest.raises(DamagedModelError, match=r"it holds a call of clip, .* --trust-pickle"):
        check_foreign(model)


@pytest.mark.parametrize("parts", [2, 3])
def test_ensembles_of_pipelines_and_of_ensembles_pass(parts):
    steps = [StandardScaler(), OneHotEncoder(handle_unknown="ignore"), LogisticRegression()]
    one, other = make_pipeline(*steps[-2:]), make_pipeline(*steps[-parts:])
    forests = [RandomForestClassifier(k, random_state=0) for k in (2, parts)]
    for inner in ([one, other], forests):
        vote = VotingClassifier([*zip("ab", inner)], voting="soft")
        check_foreign(vote.fit(np.column_stack([X[:, :2], np.arange(len(X)) % 3]), Y))


def test_caches_are_taken_away():
    inner = make_pipeline(StandardScaler(), LogisticRegression(), memory="elsewhere")
    model = make_pipeline(StandardScaler(), inner, memory="cache")
    model.steps[-1][1].memory = "elsewhere"
    check_foreign(model)
    memories = {name: v for name, v in model.get_params().items() if name.endswith("memory")}
    assert len(memories) == 2 and set(memories.values()) == {None}


@pytest.mark.parametrize("source", ["filename", "file"])
def test_vectorizers_that_open_files_are_refused(source):
    model = make_pipeline(CountVectorizer(input=source), LogisticRegression())
    with pytest.raises(DamagedModelError, match="would open files"):
        check_foreign(model)


def test_an_ensemble_that_asks_for_ten_million_trees_is_refused():
    model = RandomForestClassifier(3, random_state=0).fit(X, Y).set_params(n_estimators=10**7)
    with pytest.raises(DamagedModelError, match="n_estimators=10000000, and 3 fitted"):
        check_foreign(model)


def forged(tree, **changes):
    """A fitted tree with other numbers of nodes."""
    state = copy.deepcopy(tree.tree_.__getstate__())
    for name, value in changes.items():
        state["nodes"][name][0] = value
    tree.tree_.__setstate__(state)
    return tree


@pytest.mark.parametrize(
    "changes",
    [
        {"left_child": 0},
        {"right_child": 2**40},
        {"left_child": -5},
        {"right_child": -1},
        {"feature": 2**40},
        {"feature": -3},
        {"feature": 6},
    ],
    ids=str,
)
@pytest.mark.parametrize("depth", ["tree", "forest", "pipeline"])
def test_forged_nodes_are_refused(changes, depth):
    model = RandomForestClassifier(2, random_state=0).fit(X, Y)
    forged(model.estimators_[1], **changes)
    model = {"tree": model.estimators_[1], "forest": model, "pipeline": make_pipeline(model)}[depth]
    with pytest.raises(DamagedModelError, match="Tree in it contradict each other"):
        check_foreign(model)


@pytest.mark.parametrize("hold", [lambda part: {"a": part}, lambda part: [part]])
def test_forged_nodes_are_found_wherever_they_are_held(hold):
    tree = forged(DecisionTreeClassifier(random_state=0).fit(X, Y), left_child=0)
    objects = np.array([None, hold(tree)], dtype=object)
    for held in (hold(tree), objects):
        model = LogisticRegression().fit(X, Y)
        model.held_ = held
        with pytest.raises(DamagedModelError, match="Tree in it contradict each other"):
            check_foreign(model)


def test_a_tree_without_nodes_is_refused():
    model = HistGradientBoostingClassifier(max_iter=2).fit(X, Y)
    predictor = model._predictors[0][0]
    predictor.nodes = predictor.nodes[:0].copy()
    with pytest.raises(DamagedModelError, match="in it contradict each other"):
        check_foreign(model)


def test_a_tree_that_reads_more_columns_than_its_forest_is_refused():
    model = RandomForestClassifier(2, random_state=0).fit(X, Y)
    model.estimators_[0] = (
        RandomForestClassifier(1, random_state=0).fit(np.hstack([X, X]), Y).estimators_[0]
    )
    with pytest.raises(DamagedModelError, match="RandomForestClassifier in it"):
        check_foreign(model)


@pytest.mark.parametrize("name, value", [("left", 0), ("right", 2**31), ("feature_idx", 99)])
def test_forged_nodes_of_boosting_are_refused(name, value):
    model = HistGradientBoostingClassifier(max_iter=2).fit(X, Y)
    nodes = model._predictors[0][0].nodes = model._predictors[0][0].nodes.copy()
    nodes[name][0] = value
    with pytest.raises(DamagedModelError, match="in it contradict each other"):
        check_foreign(model)


def test_forged_support_vectors_are_refused():
    model = SVC().fit(X, Y)
    model._n_support = model._n_support * 1000
    with pytest.raises(DamagedModelError, match="SVC in it"):
        check_foreign(model)


def test_forged_sparse_indices_are_refused():
    model = SVC().fit(sparse.csr_matrix(X), Y)
    model.support_vectors_.indices[0] = 10**6
    with pytest.raises(DamagedModelError):
        check_foreign(model)


def test_forged_neighbors_are_refused():
    model = KNeighborsClassifier(algorithm="kd_tree").fit(X, Y)
    state = list(model._tree.__getstate__())
    state[1] = np.full_like(np.asarray(state[1]), 10**6)
    model._tree.__setstate__(tuple(state))
    with pytest.raises(DamagedModelError, match="KDTree in it"):
        check_foreign(model)


def test_a_catboost_of_texts_is_opened_if_it_is_trusted():
    catboost = pytest.importorskip("catboost")
    frame = pd.DataFrame({"x": range(60), "note": ["chest pain", "a cough", "a rash"] * 20})
    settings = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    model = catboost.CatBoostClassifier(2, text_features=["note"], **settings)
    model.fit(frame, np.arange(60) % 3 == 1)
    check_parts(model)
    with pytest.raises(DamagedModelError, match=r"of texts or embeddings.*--trust-pickle"):
        check_foreign(model)
