"""Tools of scikit-learn that only split records, and those that refuse them."""

import numpy as np
import pytest
import sklearn.model_selection
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFE, RFECV, SelectKBest, SequentialFeatureSelector
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsOneClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.tree import DecisionTreeClassifier

from skmia import Records
from skmia.attacks import ThresholdAttack

pytestmark = pytest.mark.contract

N = 24
MEMBERSHIP = np.random.default_rng(0).permutation(np.arange(N) % 2)
GROUPS = np.arange(N) // 4

SPLITTERS = {
    "LeavePGroupsOut": {"n_groups": 1},
    "LeavePOut": {"p": 1},
    "PredefinedSplit": {"test_fold": np.arange(N) % 3},
    "RepeatedKFold": {"n_repeats": 2, "random_state": 0},
    "RepeatedStratifiedKFold": {"n_repeats": 2, "random_state": 0},
    "ShuffleSplit": {"random_state": 0},
    "GroupShuffleSplit": {"random_state": 0},
    "StratifiedShuffleSplit": {"random_state": 0},
}


@pytest.fixture
def records():
    rng = np.random.default_rng(0)
    return Records(rng.normal(size=(N, 3)), np.arange(N) % 3, index=np.arange(N))


def find_splitters():
    """Every public class of scikit-learn that splits, so that a new one is tested too."""
    names = sklearn.model_selection.__all__
    splitters = (name for name in names if hasattr(getattr(sklearn.model_selection, name), "split"))
    return sorted(set(splitters) - {"BaseCrossValidator", "BaseShuffleSplit"})


def test_the_splitters_are_found():
    assert {"KFold", "LeaveOneOut", "StratifiedGroupKFold"} <= set(find_splitters())


@pytest.mark.parametrize("name", find_splitters())
def test_every_splitter(records, name):
    splitter = getattr(sklearn.model_selection, name)(**SPLITTERS.get(name, {}))
    groups = GROUPS if "Group" in name else None
    splits = list(splitter.split(records, MEMBERSHIP, groups))
    expected = list(splitter.split(np.zeros((N, 1)), MEMBERSHIP, groups))
    assert len(splits) == len(expected) > 0
    for rows in zip(splits, expected, strict=True):
        for actual, wanted in zip(*rows, strict=True):
            np.testing.assert_array_equal(records[actual]["index"], wanted)


class NeverFitted(ThresholdAttack):
    """Fails the test that fits it: a refusal must come before any work."""

    def fit(self, records, membership=None):
        raise AssertionError("The attack was fitted before the records were refused.")


ATTACK = NeverFitted()
FITTED = DecisionTreeClassifier().fit(np.eye(3), [0, 1, 1])

REFUSING = {
    "AdaBoostClassifier": AdaBoostClassifier(ATTACK).fit,
    "BaggingClassifier": BaggingClassifier(ATTACK).fit,
    "ClassifierChain": lambda records, y: ClassifierChain(ATTACK).fit(records, y[:, None]),
    "OneVsOneClassifier": OneVsOneClassifier(ATTACK).fit,
    "RFE": RFE(ATTACK).fit,
    "RFECV": RFECV(ATTACK).fit,
    "SelfTrainingClassifier": SelfTrainingClassifier(ATTACK).fit,
    "SequentialFeatureSelector": SequentialFeatureSelector(ATTACK).fit,
    "SelectKBest": make_pipeline(SelectKBest(), ATTACK).fit,
    "StandardScaler": make_pipeline(StandardScaler(), ATTACK).fit,
    "ColumnTransformer": make_pipeline(make_column_transformer(("passthrough", [0])), ATTACK).fit,
    "FunctionTransformer": make_pipeline(FunctionTransformer(np.log1p), ATTACK).fit,
    "LogisticRegression": LogisticRegression().fit,
    "KNeighborsClassifier": KNeighborsClassifier().fit,
    "RandomForestClassifier": RandomForestClassifier().fit,
    "predict of a plain classifier": lambda records, _: FITTED.predict(records),
    "permutation_importance": lambda *data: permutation_importance(FITTED, *data),
    "partial_dependence": lambda records, _: partial_dependence(FITTED, records, [0]),
    "numpy.asarray": lambda records, _: np.asarray(records),
    "numpy.log": lambda records, _: np.log(records),
    "a second dimension": lambda records, _: records.shape[1],
}


@pytest.mark.parametrize("name", REFUSING)
def test_tools_that_need_a_matrix_refuse_at_once(records, name):
    with pytest.raises(TypeError, match=r"Records are not a matrix\. .* Signals.* records\.X\.$"):
        REFUSING[name](records, MEMBERSHIP)


def test_stacking_with_passthrough_refuses(records):
    # Not at once: it fits the attacks before it joins their scores to the records.
    stored = records.with_outputs(DecisionTreeClassifier().fit(records.X, records.y))
    stack = StackingClassifier([("attack", ThresholdAttack())], passthrough=True, cv=2)
    with pytest.raises(TypeError, match="Records are not a matrix"):
        stack.fit(stored, MEMBERSHIP)


@pytest.mark.parametrize("use", [iter, list, lambda records: 0 in records, set, sum])
def test_nothing_runs_through_records_one_by_one(records, use):
    with pytest.raises(TypeError, match="not iterable"):
        use(records)
