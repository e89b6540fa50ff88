"""What each estimator stores about its training rows, and how to store less."""

import re
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.ensemble import GradientBoostingRegressor, RandomTreesEmbedding
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from .._core.kinds import is_regressor
from ..victims import StoredArray, StoredEstimator, has_file

# From the most to the least that a file can hold of its training rows.
LEVELS = ("rows", "values", "per-record", "counts", "summaries")
# Kinds of arrays without which a file is not at these levels, of whatever family the estimator is.
NEEDED_KINDS = {"rows": {"rows"}, "values": {"values", "targets", "edges", "thresholds"}}


class EstimatorFamily(NamedTuple):
    """Estimators that keep the same of their training rows."""

    names: str  # names of the classes
    level: str  # one of ``LEVELS``
    stores: str  # what is stored, in a sentence
    changes: tuple = ()  # what would change it
    kinds: dict = {}  # kinds of attributes that have a kind of their own here
    covers: bool = True  # whether the sentence covers the estimators inside of one
    # Whether there are trees whose nodes have counts or sums, unless these were removed.
    has_nodes: bool = False
    # Whether their thresholds are drawn, so that they say nothing of values.
    is_random: bool = False


# The more rows share a leaf, the less its numbers say of any one of them.
_SHARED = "the more rows share a leaf, the less the file tells of each."
_FEWER = f"Use fewer trees with larger leaves (min_samples_leaf): {_SHARED}"
_MANY_TREES = (
    "Leaves of ten rows are not enough in a large forest, because each of its trees divides the "
    "rows in another way."
)
_OTHER_MODEL = "The model predicts from these rows: release a model of another kind instead."
_CENTERS = {"cluster_centers_": "summaries", "centroids_": "summaries"}

FAMILIES = (
    EstimatorFamily(
        "DecisionTreeClassifier DecisionTreeRegressor",
        "counts",
        "Each node stores how many training rows came to it, with their class fractions or mean "
        "target. Each threshold lies halfway between two training values.",
        (f"Use fewer and larger leaves (min_samples_leaf, max_leaf_nodes): {_SHARED}",),
        has_nodes=True,
    ),
    EstimatorFamily(
        "ExtraTreeClassifier ExtraTreeRegressor",
        "counts",
        "Each node stores how many training rows came to it, with their class fractions or mean "
        "target. Thresholds are drawn at random and are not training values.",
        (f"Use fewer and larger leaves (min_samples_leaf, max_leaf_nodes): {_SHARED}",),
        has_nodes=True,
        is_random=True,
    ),
    EstimatorFamily(
        "RandomForestClassifier RandomForestRegressor",
        "counts",
        "Each node of each tree stores how many training rows, or rows of its bootstrap sample, "
        "came to it, with their class fractions or mean target. Each threshold lies halfway "
        "between two training values. The seed of a tree repeats the draw of its sample.",
        (_FEWER, _MANY_TREES),
        has_nodes=True,
    ),
    EstimatorFamily(
        "ExtraTreesClassifier ExtraTreesRegressor",
        "counts",
        "Each node of each tree stores how many training rows came to it, exactly unless "
        "bootstrap=True, with their class fractions or mean target. Thresholds are drawn at random "
        "and are not training values.",
        (_FEWER, _MANY_TREES),
        has_nodes=True,
        is_random=True,
    ),
    EstimatorFamily(
        "GradientBoostingClassifier GradientBoostingRegressor",
        "counts",
        "Each node of each tree stores how many training rows came to it and a mean of their "
        "residuals, or a leaf value that is computed from them. Each threshold lies halfway "
        "between two training values.",
        (_FEWER,),
        has_nodes=True,
    ),
    EstimatorFamily(
        "HistGradientBoostingClassifier HistGradientBoostingRegressor",
        "values",
        "Each node of each tree stores how many training rows came to it, and each leaf a value "
        "that is computed from them. The edges of the histograms are training values, or lie "
        "halfway between two of them, for every column.",
        (
            f"Train fewer rounds (max_iter) with larger leaves (min_samples_leaf): {_SHARED}",
            "strip_state removes the edges that no tree uses. To remove the counts as well does "
            "not help, because the value of a leaf says the same of its rows.",
        ),
        has_nodes=True,
    ),
    EstimatorFamily(
        "XGBModel",
        "values",
        "Each node of each tree stores the sum of the hessians of the training rows that came to "
        "it, and each leaf a weight that is computed from them. With tree_method='hist' each split "
        "condition is a training value in single precision.",
        (f"Train fewer rounds (n_estimators) of smaller trees (max_depth): {_SHARED}",),
        has_nodes=True,
    ),
    EstimatorFamily(
        "LGBMModel LightGBMFile",
        "values",
        "Each node of each tree stores how many training rows came to it and the sum of their "
        "hessians, and each leaf a value that is computed from them. Each threshold lies halfway "
        "between two training values. The smallest and largest value of each column are stored.",
        (f"Train fewer rounds (n_estimators) with larger leaves (min_child_samples): {_SHARED}",),
        has_nodes=True,
    ),
    EstimatorFamily(
        "CatBoost CatBoostClassifier CatBoostRegressor",
        "counts",
        "Each leaf of each tree stores how many training rows came to it, and a value that is "
        "computed from them. Each border lies halfway between two training values in single "
        "precision.",
        (f"Train fewer rounds (iterations) of smaller trees (depth): {_SHARED}",),
        has_nodes=True,
    ),
    EstimatorFamily(
        "IsolationForest RandomTreesEmbedding",
        "counts",
        "Each node of each tree stores how many training rows, or rows of the sample of the tree, "
        "came to it. Thresholds are drawn at random. Seeds repeat the draws of the samples.",
        ("Use fewer and smaller trees (n_estimators, max_samples, max_depth).",),
        {"categories_": "structure"},  # numbers of leaves
        has_nodes=True,
        is_random=True,
    ),
    EstimatorFamily(
        "KNeighborsClassifier KNeighborsRegressor KNeighborsTransformer RadiusNeighborsClassifier "
        "RadiusNeighborsRegressor RadiusNeighborsTransformer NearestNeighbors LocalOutlierFactor "
        "KNNImputer KernelDensity Isomap LocallyLinearEmbedding HDBSCAN GaussianProcessClassifier "
        "GaussianProcessRegressor KernelRidge KernelPCA LabelPropagation LabelSpreading",
        "rows",
        "Every training row is stored as it reached this part, and its target where there is one.",
        (_OTHER_MODEL,),
        {"data": "rows"},
    ),
    EstimatorFamily(
        "TabPFNClassifier TabPFNRegressor TabICLClassifier TabICLRegressor",
        "rows",
        "An in-context model reads its training rows again for each answer, so that every one of "
        "them is stored, with its target. The weights of its net come from other data.",
        (
            _OTHER_MODEL,
            "StudentDefense and PATEDefense train one on public rows with the answers of this one.",
        ),
    ),
    EstimatorFamily(
        "DBSCAN",
        "rows",
        "Every training row in a dense region (core sample) is stored, and the label of every row.",
        ("Delete components_ if only the labels are to be released.",),
        {"components_": "rows"},
    ),
    EstimatorFamily(
        "SVC NuSVC SVR NuSVR OneClassSVM",
        "rows",
        "The support vectors are training rows as they reached this part, and support_ has their "
        "row numbers.",
        ("LinearSVC, LinearSVR and SGDOneClassSVM store weights and no rows.",),
    ),
    EstimatorFamily(
        "Nystroem",
        "rows",
        "The components are training rows, and component_indices_ has their row numbers.",
        ("RBFSampler approximates a kernel by random directions and stores no rows.",),
        {"components_": "rows", "component_indices_": "per-record"},
    ),
    EstimatorFamily(
        "AffinityPropagation",
        "rows",
        "The cluster centers are training rows, and the labels are those of each row.",
        ("KMeans stores means of clusters.",),
    ),
    EstimatorFamily(
        "MeanShift Birch",
        "rows",
        "Cluster centers are means of training rows; that of a single row is the row itself.",
        ("Use larger clusters (bandwidth, threshold), so that few centers are a single row.",),
    ),
    EstimatorFamily(
        "KMeans MiniBatchKMeans BisectingKMeans NearestCentroid",
        "summaries",
        "Cluster centers or centroids are means of training rows; that of a single row is the row "
        "itself.",
        ("Use fewer and larger clusters, so that no center is a single row.",),
        _CENTERS,
    ),
    EstimatorFamily(
        "OneHotEncoder OrdinalEncoder TargetEncoder",
        "values",
        "Every value of each column that occurred in the training data is stored, rare ones too.",
        (
            "Pass a public list as categories. min_frequency and max_categories merge rare values "
            "in the output, and the file keeps them.",
        ),
    ),
    EstimatorFamily(
        "CountVectorizer TfidfVectorizer DictVectorizer",
        "values",
        "Every word or value that occurred in the training data is stored, rare ones too.",
        (
            "min_df leaves out rare words of CountVectorizer and TfidfVectorizer, and vocabulary "
            "takes a public list. HashingVectorizer and FeatureHasher store no words.",
        ),
    ),
    EstimatorFamily(
        "LabelEncoder LabelBinarizer MultiLabelBinarizer",
        "values",
        "Every label that occurred in the training data is stored.",
        ("Fit it on a public list of labels.",),
        {"classes_": "values"},
    ),
    EstimatorFamily(
        "QuantileTransformer IsotonicRegression",
        "values",
        "Quantiles or thresholds of the training data are stored: values of single rows, among "
        "them the smallest and the largest.",
        ("StandardScaler and PowerTransformer store moments and no values.",),
    ),
    EstimatorFamily(
        "KBinsDiscretizer SplineTransformer MinMaxScaler MaxAbsScaler RobustScaler",
        "values",
        "Extremes, quantiles or the median of each column are stored: values of single rows, or "
        "halfway between two.",
        ("Use public bounds of the columns, or StandardScaler, which stores moments.",),
        {"categories_": "structure"},  # numbers of bins
    ),
    EstimatorFamily(
        "SimpleImputer",
        "values",
        "A statistic of each column is stored: the median and the most frequent value are values "
        "of training rows, or halfway between two, and the mean is not. Of a function it depends.",
        ('strategy="constant" stores a public value.',),
    ),
    EstimatorFamily(
        "BernoulliNB MultinomialNB ComplementNB CategoricalNB",
        "counts",
        "Numbers of training rows are stored for each class, and sums or counts for each feature.",
        ("Merge rare values before the training: a count of 1 is a single row.",),
    ),
    EstimatorFamily(
        "MLPClassifier MLPRegressor BernoulliRBM NeuralNet",
        "summaries",
        "The weights of a net are stored, and no rows. Weights can memorize records nevertheless.",
        (
            "DPSGDClassifier trains nets with differential privacy, which covers the weights in "
            "the file, but not the steps before the net.",
        ),
    ),
    EstimatorFamily(
        "LinearModel LinearClassifierMixin LinearRegression Ridge LogisticRegression LinearSVC "
        "LinearSVR SGDClassifier SGDRegressor SGDOneClassSVM PoissonRegressor GammaRegressor "
        "TweedieRegressor HuberRegressor TheilSenRegressor LinearDiscriminantAnalysis "
        "QuadraticDiscriminantAnalysis GaussianNB PCA IncrementalPCA TruncatedSVD NMF "
        "MiniBatchNMF FactorAnalysis FastICA GaussianMixture BayesianGaussianMixture "
        "StandardScaler PowerTransformer BayesianRidge ARDRegression EmpiricalCovariance "
        "LatentDirichletAllocation DictionaryLearning MiniBatchDictionaryLearning SparsePCA "
        "MiniBatchSparsePCA",
        "summaries",
        "Weights, sums or means over the training rows are stored. Each of these numbers depends "
        "on all rows, and a mean over a single row is that row.",
        ("Use fewer columns or more training rows: each row then counts for less in a weight.",),
        {"outliers_": "per-record"},
    ),
    EstimatorFamily(
        "QuantileRegressor",
        "values",
        "All weights are 0, so that the intercept is the target of a training row.",
        ("LinearRegression and Ridge store weights that depend on all rows.",),
        {"intercept_": "values"},
    ),
    EstimatorFamily(
        "BaggingClassifier BaggingRegressor",
        "summaries",
        "The seeds of the members repeat the draws of their row numbers.",
        covers=False,
    ),
)

# Attributes with a name that means something else in other estimators.
_OWN_KINDS = {
    "FeatureAgglomeration": {"children_": "structure", "labels_": "structure"},
    "MaxAbsScaler": {"scale_": "values"},
    "RFE": {"support_": "structure"},
    "RidgeCV": {"cv_results_": "per-record"},
    "RidgeClassifierCV": {"cv_results_": "per-record"},
    "RobustScaler": {"center_": "edges"},
    "SequentialFeatureSelector": {"support_": "structure"},
    "SplineTransformer": {"_t": "edges", "t": "edges"},
    "_ConstantPredictor": {"y_": "labels"},
}

# Fallback texts for unknown estimators, chosen by the kinds of arrays they store.
STRIPPED = (
    "Counts and sums of nodes were removed. Thresholds remain, and leaf values or class fractions, "
    "which are computed from the training rows of a leaf."
)


class KindOfArrays(NamedTuple):
    """What arrays of one kind tell of the training rows, whatever estimator they belong to."""

    level: str  # one of ``LEVELS``
    stores: str  # what is stored, in a sentence
    changes: tuple = ()  # what would change it


# Kinds come from the names of attributes (``_NAMES`` of ``victims/_state.py``), unless the family
# or ``_OWN_KINDS`` has another one. Of kinds that are not here nothing is told.
BY_KIND = {
    "rows": KindOfArrays("rows", "Arrays are stored that are named as training rows are."),
    "values": KindOfArrays(
        "values", "Arrays are stored that are named as values of training rows are."
    ),
    "targets": KindOfArrays("values", "Leaves with a single row store its target."),
    "edges": KindOfArrays(
        "values", "Edges of bins are stored, which are training values or lie between two."
    ),
    "per-record": KindOfArrays(
        "per-record",
        "Arrays are stored that have one number for each training row, in their order.",
        (
            "What is not needed for predictions, such as labels_ of a clustering, can be deleted "
            "first.",
        ),
    ),
    "counts": KindOfArrays("counts", "Numbers of training rows are stored."),
    "covers": KindOfArrays("counts", "Sums over training rows are stored."),
    "leaf values": KindOfArrays(
        "counts", "Values are stored that are computed from the training rows of a leaf."
    ),
    "thresholds": KindOfArrays(
        "counts", "Thresholds are stored, which may be training values or lie between two."
    ),
}

# Parameters that give an estimator what it would learn, and words with which it learns.
_GIVEN = {
    "OneHotEncoder": ("categories", ("auto",)),
    "OrdinalEncoder": ("categories", ("auto",)),
    "TargetEncoder": ("categories", ("auto",)),
    "CountVectorizer": ("vocabulary", ()),
    "SimpleImputer": ("strategy", ("mean", "median", "most_frequent")),  # or a function
}
_OF_GIVEN = dict.fromkeys(("categories_", "statistics_", "vocabulary_"), "structure")

_BY_NAME = {name: family for family in FAMILIES for name in family.names.split()}


def get_family(estimator):
    """The family of an estimator, by the names of its class and those that it is derived from."""
    if _was_given(estimator):
        return None
    if _keeps_means(estimator):
        return _BY_NAME["StandardScaler"]
    return _BY_NAME.get("Ridge" if _has_slopes(estimator) else _find_name(estimator, _BY_NAME))


def get_kinds(estimator):
    """Kinds that attributes of an estimator have other than those of the same name elsewhere."""
    if _was_given(estimator):
        return _OF_GIVEN
    if _keeps_means(estimator):
        return {"statistics_": "summaries"}
    name = _find_name(estimator, _OWN_KINDS)
    family = get_family(estimator)
    return ({} if family is None else family.kinds) | _OWN_KINDS.get(name, {})


def _find_name(estimator, names):
    return next((one.__name__ for one in type(estimator).__mro__ if one.__name__ in names), None)


def _was_given(estimator):
    """Whether an estimator keeps values that its user gave, and none of its training data."""
    name, settings = _find_name(estimator, _GIVEN), getattr(estimator, "__dict__", {})
    parameter, learning = _GIVEN.get(name, (None, ()))
    given = settings.get(parameter)
    # What a function computes comes from the training data.
    learns = given is None or callable(given) or (isinstance(given, str) and given in learning)
    return name is not None and not learns


def _has_slopes(estimator):
    """Return whether a regression of quantiles is more than a constant."""
    weights = getattr(estimator, "__dict__", {}).get("coef_")
    is_quantile = _find_name(estimator, {"QuantileRegressor"}) is not None
    return is_quantile and weights is not None and bool(np.any(weights))


def _keeps_means(estimator):
    is_imputer = _find_name(estimator, {"SimpleImputer"}) is not None
    return is_imputer and getattr(estimator, "strategy", None) == "mean"


# Arrays that say nothing of single training rows.
_OTHERWISE = {"labels", "names", "structure"}
_ORDER = ("rows", "per-record", "values", "targets", "edges", "thresholds", "counts", "covers")
_ORDER += ("leaf values", "seeds", "summaries", "other")
# Numbers of lists, except of steps, which are different estimators.
_NUMBER = re.compile(r"(?<!steps)(?<!transformers_)(?<!transformer_list)\[\d+\]")
# Kinds of arrays that hold a number for each node, which is never 0 at the root.
_OF_NODES = {"counts", "covers"}
# Their trees are regressors of residuals, or of random numbers.
_OF_OTHERS = GradientBoostingRegressor, RandomTreesEmbedding
_COLUMNS = ["path", "kind", "n_arrays", "shape", "n_values", "bytes"]


class OwnedArray(NamedTuple):
    """A stored array, its kind, and the estimator that holds it."""

    stored: StoredArray
    kind: str
    owner: StoredEstimator | None


def list_owned_arrays(state):
    """Return the arrays of a state that come from training rows, as a list of OwnedArray."""
    places = {one.path: one for one in state.estimators}
    arrays = {one.path: one for one in state.arrays}
    owned = []
    for one in state.arrays:
        owner = _get_owner(one.path, places)
        kind = _get_kind(one, owner)
        # Where a file was stripped, numbers of nodes were set to 0.
        is_node = kind in _OF_NODES and not sparse.issparse(one.array)
        is_removed = is_node and one.array.dtype.kind in "iuf" and not one.array.any()
        if kind not in _OTHERWISE and not is_removed:
            owned.append(OwnedArray(one, kind, owner))
    return [_mark_targets(array, arrays) for array in owned]


def _mark_targets(one, arrays):
    """Return a regression tree with leaves of a single row keeps the targets of these rows."""
    tree, _, name = one.stored.path.rpartition(".values")
    counts = arrays.get(f"{tree}.nodes['n_node_samples']")
    is_tree = one.kind == "leaf values" and not name and counts is not None
    if not is_tree or counts.array.min() != 1 or not keeps_targets(one.owner.estimator):
        return one
    return one._replace(kind="targets")


def keeps_targets(estimator):
    """Return whether the trees of an estimator are grown on the targets of a regression."""
    return is_regressor(estimator) and not isinstance(estimator, _OF_OTHERS)


def _get_owner(path, places):
    """Return innermost estimator whose path begins a path, or of its family the outermost one."""
    ends = [k for k, letter in enumerate(path) if letter in ".["]
    around = [places[path[:end]] for end in ends if path[:end] in places]
    around = [places[""], *around] if "" in places else around
    for one in around:
        family = get_family(one.estimator)
        if family is not None and family.covers:
            return one
    return around[-1] if around else None


def _get_kind(stored, owner):
    kinds = {} if owner is None else get_kinds(owner.estimator)
    name = stored.path.removesuffix(".keys()").rpartition(".")[2].partition("[")[0]
    if stored.kind == "labels" and owner is not None and owner.path:
        return stored.kind  # the names of classes of a model around it
    return kinds.get(name, stored.kind)


def has_learned(estimator):
    """Return whether an estimator has learned anything; parameters hold some that have not."""
    if not isinstance(estimator, BaseEstimator):
        return True
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def check_fitted_model(model):
    """Refuse what has no file or was not fitted."""
    name = type(model).__name__
    if not has_file(model):
        raise TypeError(f"An inspection reads the file of a model; {name} has none.")
    if not hasattr(model, "fit"):
        raise TypeError(f"model must be a fitted estimator; got {name}.")
    if not has_learned(model):
        raise NotFittedError(f"model must be fitted; this {name} is not.")


def is_inside(path, other):
    """Return whether a path leads through another one."""
    return not other or path.startswith((f"{other}.", f"{other}["))


def generalize(path):
    """Return a path without the numbers of lists, so that the parts of an ensemble are one."""
    return _NUMBER.sub("[*]", path)


def name_place(general, paths):
    """Return the path itself where it is the only one, else the one for all."""
    return paths[0] if len(paths) == 1 else general


def make_frame(owned):
    """Return one row for each place, with arrays of one list together, the most telling first."""
    groups = {}
    for one in owned:
        groups.setdefault((generalize(one.stored.path), one.kind), []).append(one.stored)
    rows = [
        (
            name_place(path, [one.path for one in some]),
            kind,
            *_measure_arrays([one.array for one in some]),
        )
        for (path, kind), some in groups.items()
    ]
    rows.sort(key=lambda row: (_ORDER.index(row[1]), -row[-1]))
    return pd.DataFrame(rows, columns=_COLUMNS)


def _measure_arrays(arrays):
    """Return the number, common shape, number of values and bytes of some arrays."""
    shapes = {one.shape for one in arrays}
    sizes = [one.data if sparse.issparse(one) else one for one in arrays]
    return (
        len(arrays),
        shapes.pop() if len(shapes) == 1 else None,
        int(sum(np.size(one) for one in sizes)),
        int(sum(one.nbytes for one in sizes)),
    )


def get_strongest(levels):
    """Return the level of those given that tells most, or None."""
    return min(levels, key=LEVELS.index, default=None)
