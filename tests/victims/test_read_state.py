"""What is read of a fitted model: every array once, with its place and kind."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import Birch
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction import DictVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import BallTree, KernelDensity, KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skmia.victims import read_state

pytestmark = pytest.mark.contract

RNG = np.random.default_rng(0)
X = RNG.gamma(2, size=(60, 3))
Y = (X[:, 0] > 1.5).astype(int)


def read(model):
    """Stored arrays by their paths."""
    state = read_state(model)
    assert state.unread == ()
    return {one.path: one for one in state.arrays}


def test_rows_of_neighbors_are_read():
    stored = read(FrozenEstimator(KNeighborsClassifier().fit(X, Y)))
    np.testing.assert_array_equal(stored["_fit_X"].array, X)
    assert stored["_fit_X"].kind == "rows"
    assert not stored["_fit_X"].array.flags.writeable


def test_nodes_of_a_tree_are_read_field_by_field():
    tree = DecisionTreeClassifier(random_state=0).fit(X, Y)
    stored = read(make_pipeline(StandardScaler(), tree).fit(X, Y))
    place = "steps[1].tree_.nodes['threshold']"
    np.testing.assert_array_equal(stored[place].array, tree.tree_.threshold)
    kinds = {path.rpartition("tree_.")[2]: one.kind for path, one in stored.items()}
    assert kinds["nodes['threshold']"] == "thresholds"
    assert kinds["nodes['n_node_samples']"] == "counts"
    assert kinds["values"] == "leaf values"


NEIGHBORS = KNeighborsClassifier()
PARTS = {
    "grid": (GridSearchCV(NEIGHBORS, {"n_neighbors": [3, 5]}), "best_estimator_._fit_X"),
    "stack": (StackingClassifier([("a", NEIGHBORS)]), "estimators_[0]._fit_X"),
    "vote": (VotingClassifier([("a", NEIGHBORS)]), "estimators_[0]._fit_X"),
    "calibration": (
        CalibratedClassifierCV(NEIGHBORS, cv=2),
        "calibrated_classifiers_[1].estimator._fit_X",
    ),
    "pipeline": (make_pipeline(StandardScaler(), make_pipeline(NEIGHBORS)), "steps[1].steps[0]"),
    "boosting": (GradientBoostingClassifier(n_estimators=2), "estimators_[1].tree_.values"),
    "histograms": (HistGradientBoostingClassifier(max_iter=2), "_predictors[1][0].nodes['count']"),
    "forest": (RandomForestClassifier(2), "estimators_[1].tree_.nodes['impurity']"),
    "density": (KernelDensity(), "tree_.data"),
}


@pytest.mark.parametrize("name", PARTS)
def test_models_are_read_at_any_depth(name):
    model, place = PARTS[name]
    assert any(path.startswith(place) for path in read(model.fit(X, Y)))


def test_columns_carry_the_names_that_they_were_fitted_under():
    table = pd.DataFrame({"age": RNG.integers(20, 60, 60), "city": RNG.choice(["a", "b"], 60)})
    model = ColumnTransformer([("text", OneHotEncoder(), ["city"])], remainder="passthrough")
    one = read(model.fit(table))["transformers_[0].categories_[0]"]
    assert one.array.tolist() == ["a", "b"]
    assert (one.kind, one.columns) == ("values", ("city",))
    assert read(model)["_transformer_to_input_indices['text']"].kind == "structure"


def test_a_table_with_two_columns_of_one_name_is_read_to_its_end():
    model = LogisticRegression().fit(X, Y)
    model.table_ = pd.DataFrame(RNG.normal(size=(60, 3)), columns=["a", "a", "b"])
    found = [one for one in read_state(model).arrays if one.path.startswith("table_")]
    np.testing.assert_array_equal([one.array for one in found], model.table_.to_numpy().T)


def test_categories_with_a_gap_are_read():
    table = np.array([["a"], ["b"], [None]], dtype=object)
    stored = read(OneHotEncoder().fit(table))["categories_[0]"]
    assert stored.array.tolist() == ["a", "b", None]


def test_words_of_a_vocabulary_are_read():
    model = DictVectorizer().fit([{"name=ann": 1}, {"name=bob": 1}])
    assert read(model)["vocabulary_.keys()"].array.tolist() == ["name=ann", "name=bob"]


def test_sparse_rows_are_read():
    stored = read(KNeighborsClassifier().fit(sparse.csr_matrix(X), Y))["_fit_X"]
    np.testing.assert_array_equal(stored.array.toarray(), X)


def test_seeds_are_noted_and_their_generators_skipped():
    model = RandomForestClassifier(2, random_state=np.random.RandomState(0)).fit(X, Y)
    stored = read(model)
    seeds = [path for path, one in stored.items() if one.kind == "seeds"]
    assert {"estimators_[0].random_state", "random_state"} <= set(seeds)
    expected = model.estimators_[0].random_state
    assert stored["estimators_[0].random_state"].array == expected


def test_what_was_learned_is_read_and_parameters_are_not():
    stored = read(LogisticRegression(C=0.5).fit(X, Y))
    assert {"coef_", "intercept_"} <= set(stored)
    assert "C" not in stored


class Node:
    """A part of a chain that ends where it began."""

    def __init__(self, number):
        self.values_ = np.full(3, number)
        self.next_ = self


def test_circles_and_long_chains_end():
    nodes = [Node(k) for k in range(3000)]
    for one, other in zip(nodes, nodes[1:] + nodes[:1], strict=True):
        one.next_ = other
    assert len(read_state(nodes[0]).arrays) == len(nodes)


def test_temporary_states_are_not_taken_for_seen_ones():
    """The address of a state that was thrown away would be that of the next one."""
    trees = [BallTree(RNG.normal(size=(5, 2))) for _ in range(200)]
    stored = read(trees)
    assert all(f"[{k}].data" in stored for k in range(len(trees)))
    assert len(read_state(Birch().fit(X)).arrays) == len(read_state(Birch().fit(X)).arrays) > 40


def test_an_object_that_refuses_is_named():
    class Closed:
        def __reduce_ex__(self, protocol):
            raise TypeError("no")

    model = KNeighborsClassifier().fit(X, Y)
    model.secret_ = Closed()
    assert read_state(model).unread == ("secret_: Closed",)


def test_no_code_of_the_model_is_run():
    class Loud(KNeighborsClassifier):
        def predict(self, X):
            raise AssertionError("predict was called")

        @property
        def loud_(self):
            raise AssertionError("a property was computed")

    assert "_fit_X" in read(Loud().fit(X, Y))


def test_summary_has_a_row_for_each_array():
    state = read_state(KNeighborsClassifier().fit(X, Y))
    frame = state.to_frame()
    assert list(frame.columns) == ["path", "kind", "shape", "dtype", "bytes"]
    row = frame.set_index("path").loc["_fit_X"]
    assert tuple(row) == ("rows", (60, 3), "float64", X.nbytes)
    assert repr(state) == f"ModelState({len(frame)} arrays, {frame['bytes'].sum()} bytes)"


def test_a_booster_is_read_through_its_json():
    xgboost = pytest.importorskip("xgboost")
    stored = read(xgboost.XGBClassifier(n_estimators=2).fit(X, Y))
    kinds = {one.kind for path, one in stored.items() if "['trees']" in path}
    assert {"thresholds", "covers", "leaf values"} <= kinds


def test_weights_of_a_net_are_read():
    pytest.importorskip("skorch")
    from small_net import make_small_net

    net = make_small_net(3, 2, max_epochs=1).fit(X.astype(np.float32), Y)
    stored = read(net)
    weights = net.module_.state_dict()["0.weight"].numpy()
    np.testing.assert_array_equal(stored["module_['0.weight']"].array, weights)


def test_edges_between_few_distinct_values_are_midpoints():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=600), 2 * rng.integers(0, 20, 600)])
    model = HistGradientBoostingClassifier(max_iter=1).fit(X, rng.integers(0, 2, 600))
    kinds = {one.path: one for one in read_state(model).arrays if "bin_thresholds_" in one.path}
    edges, midpoints = (next(kinds[path] for path in kinds if f"[{k}]" in path) for k in (0, 1))
    assert (edges.kind, midpoints.kind) == ("edges", "thresholds")
    np.testing.assert_array_equal(midpoints.array, np.arange(1, 39, 2))
