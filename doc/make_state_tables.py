"""Write which fitted attributes hold training data into doc/user_guide/stored_state.md.

    make tables

Every estimator of scikit-learn, and XGBoost where it is installed, is fitted on numbers that occur
nowhere else. What it stores is read by skmia.victims.read_state, and what its predictions need is
what skmia.defenses.strip_state leaves in a copy that predicts bitwise the same.
"""

import pickle
import re
import sys
import warnings
from collections import Counter
from copy import copy
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.utils import all_estimators

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from skmia.defenses import strip_state  # noqa: E402
from skmia.inspection._families import generalize, list_owned_arrays  # noqa: E402
from skmia.victims import read_state  # noqa: E402
from tests.helpers.generic import make_generically  # noqa: E402

PAGE = HERE / "user_guide" / "stored_state.md"
N = 260  # more than the 255 bins of histogram boosting
SETTINGS = {"max_iter": 5, "n_estimators": 3, "cv": 3, "n_init": 1, "n_iter": 1, "n_components": 1}
SETTINGS |= {"random_state": 0, "n_best": 1, "novelty": True}
SLOW = {"DictionaryLearning", "MiniBatchDictionaryLearning", "TSNE"}
# By the headings of the page.
KINDS = {
    "Rows": ("rows",),
    "Values and targets": ("values", "targets"),
    "Edges and thresholds": ("edges", "thresholds"),
    "Counts and sums over the rows of a node": ("counts", "covers"),
    "Values of leaves": ("leaf values",),
    "One number for each row": ("per-record",),
    "Seeds": ("seeds",),
}
# Containers of members, which have attributes of their own.
_MEMBERS = re.compile(r"^(?:estimators_|_predictors)(?:\[\*\])+\.|^_Booster.*(?=trees')")
_LEAVES = re.compile(r"^(?:dummy_leaf_|root_)\..*\.")
# Estimators of scikit-learn inside of others, which have rows of their own.
_INNER = re.compile(r"^(?:estimator_|kernel_pca_|nbrs_)\.")
# Hold what the estimators inside of them hold.
_AROUND = {"CalibratedClassifierCV", "ColumnTransformer", "FeatureUnion"}
_METHODS = (
    "predict predict_proba decision_function score_samples transform inverse_transform kneighbors "
    "mahalanobis"
).split()
_WORDS = {"no": "no", "part": "a part", "yes": "yes", "-": "-"}
_NOTHING = pd.DataFrame(columns=["kind", "attribute", "use", "estimator"])


def make_data():
    rng = np.random.default_rng(0)
    X = rng.gamma(2, size=(N, 4))
    return X, (X[:, 0] > 1.5).astype(int), X[:, 0] + rng.gamma(2, size=N)


def fit(name, kind):
    """A fitted estimator and its data, or two times None if it takes another kind of data."""
    X, labels, targets = make_data()
    try:
        estimator = make_generically(kind, SETTINGS)
        y = targets if is_regressor(estimator) else labels
        several = name.startswith("Multi") or name.endswith("Chain")
        X = X[:, :1] if name == "IsotonicRegression" else X
        return estimator.fit(X, y[:, None] if several else y), X
    except Exception:
        return None, None


def list_kinds():
    """Classes of scikit-learn and XGBoost by name."""
    # They count as estimators of scikit-learn as soon as anybody has imported them.
    from sklearn.experimental import enable_halving_search_cv, enable_iterative_imputer  # noqa: F401

    kinds = {name: kind for name, kind in all_estimators() if name not in SLOW}
    try:
        import xgboost
    except ImportError:
        return kinds
    return kinds | {name: getattr(xgboost, name) for name in ("XGBClassifier", "XGBRegressor")}


def read_arrays(model):
    """What is stored of training rows, by path."""
    return {one.stored.path: one for one in list_owned_arrays(read_state(model))}


def describe(name, kind):
    """The attributes of an estimator that hold training data, and whether predictions use them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, X = fit(name, kind)
        if model is None:
            return _NOTHING
        before, after = read_arrays(model), read_arrays(strip_state(model))
        rows = [
            (one.kind, shorten(path), find_use(model, X, path, one, after.get(path)), name)
            for path, one in before.items()
            if path not in model.get_params(deep=False) and not _INNER.match(path)
        ]
    found = pd.DataFrame(rows, columns=_NOTHING.columns)
    # Of many arrays of one name, such as those of all trees, one that is used is enough.
    return found.groupby(["kind", "attribute", "estimator"], as_index=False)["use"].max()


def find_use(model, X, path, one, stripped):
    """Whether predictions use a stored array: "yes", "part" or "no"; "-" if there are none."""
    if not any(hasattr(model, method) for method in _METHODS):
        return "-"
    if stripped is None:
        return "no"
    first, second = (to_dense(each.stored.array) for each in (one, stripped))
    if not np.array_equal(first, second, equal_nan=first.dtype.kind == "f"):
        return "part" if second.any() else "no"
    return "no" if can_be_deleted(model, X, path) else "yes"


def can_be_deleted(model, X, name):
    """Whether a file without an attribute, which is nowhere else in it, gives the same answers."""
    if name not in vars(model):
        return False
    other = copy(model)
    array = to_dense(vars(other).pop(name))
    if any(np.array_equal(array, to_dense(one.array)) for one in read_state(other).arrays):
        return False
    expected, got = answer_all(model, X), answer_all(other, X)
    return expected.keys() == got.keys() and all(
        np.array_equal(expected[key], got[key], equal_nan=True) for key in expected
    )


def answer_all(model, X):
    """Answers of a model that comes from a file, by method and data, without refusals."""
    model, answers = pickle.loads(pickle.dumps(model)), {}
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    for method, given in product(_METHODS, (X, gaps)):
        try:
            rows = model.transform(given) if method == "inverse_transform" else given
            answer = getattr(model, method)(rows)
            answers[method, given is X] = to_dense(
                answer[0] if isinstance(answer, tuple) else answer
            )
        except Exception:
            continue
    return answers


def to_dense(array):
    return array.toarray() if sparse.issparse(array) else np.asarray(array)


def shorten(path):
    """The name of an attribute without the place of the member that has it."""
    name = _MEMBERS.sub("", generalize(path)).replace("trees']", "trees").removesuffix("[*]")
    return _LEAVES.sub("root_ ... ", name)


def collect(kinds):
    """One row for each attribute and estimator."""
    return pd.concat([describe(*one) for one in kinds.items() if one[0] not in _AROUND])


def join_pairs(names):
    """Names of estimators, with a star for Classifier and Regressor of one name."""
    stems = {name: re.sub("(Classifier|Regressor)$", "*", name) for name in names}
    pairs = Counter(stems.values())
    return sorted({stem if pairs[stem] == 2 else name for name, stem in stems.items()})


def write_table(found, kinds):
    """Attributes of some kinds, with the estimators that have them."""
    lines = ["| attribute | estimators | used |", "|---|---|---|"]
    some = found[found["kind"].isin(kinds)]
    groups = some.groupby(["attribute", "use"])["estimator"].agg(join_pairs)
    merged = {}
    for (attribute, use), names in groups.items():
        merged.setdefault((tuple(names), use), []).append(attribute)
    for (names, use), attributes in sorted(merged.items(), key=lambda one: (one[1], one[0])):
        cells = (", ".join(f"`{one}`" for one in part) for part in (sorted(attributes), names))
        lines.append(f"| {' | '.join(cells)} | {_WORDS[use]} |")
    return "\n".join(lines) + "\n"


def rewrite(text, found):
    """The page with tables of what was found."""
    version = sklearn.__version__
    text = re.sub(r"(?<=scikit-learn )\d+\.\d+\.\d+", version, text, count=1)
    for title, kinds in KINDS.items():
        place = rf"(^## {title}\n.*?\n)(\|.*?\n)(?=\n|\Z)"
        section = re.search(place, text, re.MULTILINE | re.DOTALL)
        text = text[: section.start(2)] + write_table(found, kinds) + text[section.end(2) :]
    return text


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(rewrite(page, collect(list_kinds())), encoding="utf-8")
