"""Sums over the training rows that a model stores: counts, means, variances, covariances."""

from dataclasses import dataclass, field
from functools import cache

import numpy as np
from scipy import sparse
from sklearn.covariance import OAS, EmpiricalCovariance, LedoitWolf, ShrunkCovariance
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import NearestCentroid
from sklearn.preprocessing import StandardScaler

from .._core.kinds import is_classifier
from .._core.query import check_fitted, unwrap
from ._inner_models import iter_inner_models, opens
from ._model_features import check_labels, read_features

# Below this share of its terms, a difference consists of rounding errors.
_ROUNDING = 1e-9
# Largest number of training rows of which shares of classes are taken for a fraction.
_MOST_ROWS = 2_000_000
_WHOLE = 1e-9
# Relative errors of the shares of texts that follow from frequencies in double and less precision.
_ROUNDED_IDF = 1e-12, 1e-5
# Number of different shares that leave little chance of a divisor that all counts have in common.
_MANY_SHARES = 8
_WEIGHTED = "its counts are not whole numbers, so its rows were weighted"


@dataclass(frozen=True, eq=False)
class SumEquations:
    """Equations ``sum of features over the members = targets``."""

    # Function of rows, a matrix, and of the numbers of their classes; it returns a matrix with
    # one column per equation.
    features: object
    targets: np.ndarray  # (n_equations,)
    label: int | None = None  # number of the class whose members are summed; None for all
    floors: object = 0.0  # (n_equations,): size below which a feature consists of rounding errors


@dataclass(eq=False)
class SumSource:
    """Equations of one estimator in a file, with the candidates as they reach it."""

    model: object
    X: object  # (n, n_features)
    y: np.ndarray | None  # (n,)
    blocks: list = field(default_factory=list)
    reads: set = field(default_factory=set)  # attributes of the model that the equations say all of
    n_rows: float | None = None  # number of training rows
    refused: str | None = None  # why further numbers of the model are not read

    def add(self, features, targets, label=None, floors=0.0):
        self.blocks.append(SumEquations(features, np.asarray(targets, dtype=float), label, floors))

    def add_count(self, count, label=None):
        self.add(lambda X, y: np.ones((X.shape[0], 1)), [count], label)

    def add_center(self, center, label=None):
        floors = _ROUNDING * np.abs(center)
        self.add(lambda X, y: X - center, np.zeros(len(center)), label, floors)


def has_stored_sums(model):
    """Return whether a model, or one inside it, is of a kind that stores sums."""
    model = unwrap(model)
    if type(model) in _READERS:
        return True
    return opens(model) and any(map(has_stored_sums, _list_inside(list(vars(model).values()))))


def _list_inside(value):
    """Yield the estimators in attributes of a composite."""
    if isinstance(value, list | tuple):
        for one in value:
            yield from _list_inside(one)
    elif isinstance(value, dict):
        yield from _list_inside(list(value.values()))
    elif hasattr(value, "get_params") and not isinstance(value, type):
        yield value


def read_stored_sums(model, records, n_expected):
    """Read all sums over the training rows that a model stores, as equations in membership.

    Models inside the model are read as well if they were fitted on all of its training rows.
    """
    name = type(unwrap(model)).__name__
    if not has_stored_sums(model):
        *kinds, last = (kind.__name__ for kind in _READERS)
        known = f"{', '.join(kinds)} and {last}"
        raise TypeError(f"Stored sums are read of {known}, also in a Pipeline; got {name}.")
    check_fitted(unwrap(model), "victim")
    sources, refused = [], []
    for inner in iter_inner_models(model, records.X, records.y):
        read = _READERS.get(type(inner.model))
        if read is None or inner.rows is not None or inner.share < 1:
            continue
        kind = type(inner.model).__name__
        if inner.reads is not None:
            refused.append(f"The sums of this {kind} are not read: {inner.why}.")
            continue
        try:
            source = _open(inner)
            read(source, source.model, n_expected)
        except _RefusedModelError as error:
            refused.append(f"The sums of this {kind} are not read: {error}.")
            continue
        sources.append(source)
        if source.refused is not None:
            refused.append(f"Not all numbers of this {kind} are read: {source.refused}.")
    if not sources:
        why = " ".join(refused) or "They are of models that were fitted on some of the rows."
        raise ValueError(f"No sums of this {name} are read. {why}")
    return sources, refused


class _RefusedModelError(ValueError):
    """A model whose settings have no known equations; the message is part of a sentence."""


def _open(inner):
    """Return candidates as they reach a model, checked."""
    model, X = inner.model, inner.X
    if isinstance(model, TfidfVectorizer):
        X = CountVectorizer.transform(model, X)
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        wanted = X.shape[1] if isinstance(model, TfidfVectorizer) else model.n_features_in_
        if X.shape[1] != wanted:
            raise ValueError(f"The model has {wanted} features; the records have shape {X.shape}.")
    else:
        X = read_features(model, None, X, role="The model has")
    y = check_labels(model, inner.y) if is_classifier(model) else None
    return SumSource(model, X, y)


def _pairs(rows):
    """Return the products of each two columns, each pair once."""
    first, second = np.triu_indices(rows.shape[1])
    return rows[:, first] * rows[:, second]


def _upper(matrix):
    return matrix[np.triu_indices(len(matrix))]


def _spread_covariance(source, center, covariance, lost=0.0, label=None):
    """Equations of a covariance whose sum was divided by the number of rows minus `lost`."""
    wanted, floors = _upper(covariance), _ROUNDING * np.abs(center)
    floors = _upper(np.outer(floors, floors))
    source.add(lambda X, y: _pairs(X - center) - wanted, -lost * wanted, label, floors)


def _check_whole(counts):
    counts = np.asarray(counts, dtype=float)
    if not np.allclose(counts, np.round(counts), rtol=0, atol=1e-6):
        raise _RefusedModelError(_WEIGHTED)
    return counts


def _count_by_shares(shares, expected):
    """Return the number of rows by the smallest denominator of the shares of classes.

    None without one.
    """
    most = int(min(max(10 * expected, 10_000), _MOST_ROWS))
    n = np.arange(1, most + 1)
    found = np.ones(most, dtype=bool)
    for share in shares:
        found &= np.abs(share * n - np.round(share * n)) <= np.minimum(_WHOLE * n, 1e-3)
    if not found.any():
        return None
    smallest = int(n[found][0])
    return float(smallest * max(round(expected / smallest), 1))


def _count_shares(source, shares, expected):
    """Equations of the numbers of rows by class, of which the file stores the shares."""
    source.n_rows = _count_by_shares(shares, expected)
    for label, share in enumerate(shares):
        source.add_count(share * (source.n_rows or expected), label)


# Each reader adds equations to a source and is given the expected number of training rows.


def _read_gaussian(source, model, expected):
    counts = _check_whole(model.class_count_)
    variances = model.var_ - model.epsilon_
    for label, (count, center, variance) in enumerate(
        zip(counts, model.theta_, variances, strict=True)
    ):
        source.add_count(count, label)
        source.add_center(center, label)
        floors = np.maximum((_ROUNDING * center) ** 2, 1e-12 * model.epsilon_)
        source.add(
            lambda X, y, center=center, variance=variance: (X - center) ** 2 - variance,
            np.zeros(len(center)),
            label,
            floors,
        )
    source.n_rows = float(counts.sum())
    source.reads = {"class_count_", "class_prior_", "theta_", "var_", "epsilon_"}


def _sum_feature_counts(source, model, expected):
    """Sums of features by class of naive Bayes for counts and bits."""
    counts = _check_whole(model.class_count_)
    cut = getattr(model, "binarize", None)
    change = (lambda X: X) if cut is None else (lambda X: (X > cut).astype(float))
    for label, (count, sums) in enumerate(zip(counts, model.feature_count_, strict=True)):
        source.add_count(count, label)
        mean = sums / count
        source.add(
            lambda X, y, mean=mean: change(X) - mean, np.zeros(len(sums)), label, _ROUNDING * mean
        )
    source.n_rows = float(counts.sum())
    source.reads = {
        "class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_", "feature_all_",
    }  # fmt: skip


def _sum_categories(source, model, expected):
    counts = _check_whole(model.class_count_)
    for label, count in enumerate(counts):
        source.add_count(count, label)
        for column, table in enumerate(model.category_count_):
            source.add(_is_category(column, len(table[label])), table[label], label)
    source.n_rows = float(counts.sum())
    source.reads = {
        "class_count_", "class_log_prior_", "category_count_", "feature_log_prob_", "n_categories_",
    }  # fmt: skip


def _is_category(column, n_categories):
    return lambda X, y: (X[:, [column]] == np.arange(n_categories)).astype(float)


def _unshrink(covariance, shrinkage):
    """Return the covariance before a part of it was replaced by a multiple of the identity."""
    share = float(shrinkage)
    size = np.trace(covariance) / len(covariance)
    return (covariance - share * size * np.eye(len(covariance))) / (1 - share)


def why_not_shrunk(model):
    if getattr(model, "covariance_estimator", None) is not None:
        return "its covariance comes from a covariance_estimator"
    shrinkage = getattr(model, "shrinkage", None)
    if isinstance(shrinkage, str) and shrinkage != "empirical":
        return f"shrinkage={shrinkage!r} was chosen by the rows"
    if shrinkage is not None and not isinstance(shrinkage, str) and shrinkage >= 1:
        return "shrinkage=1 leaves no covariance"
    return None


def _get_shrinkage(model):
    shrinkage = getattr(model, "shrinkage", None)
    return 0.0 if shrinkage is None or isinstance(shrinkage, str) else shrinkage


@cache
def lost_by_quadratic():
    """What the running version of scikit-learn subtracts from the number of rows in a class."""
    X, y = np.array([[0.0], [2.0], [5.0], [9.0], [10.0], [20.0]]), [0, 0, 0, 1, 1, 1]
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    return 3 - round(np.sum((X[:3] - X[:3].mean()) ** 2) / float(model.scalings_[0][0]))


@cache
def lost_by_linear(n_classes):
    """Return what it subtracts in discriminant analysis by a singular value decomposition."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), 3)
    X = rng.normal(size=(len(y), n_classes)) + y[:, None]
    model = LinearDiscriminantAnalysis(solver="svd").fit(X, y)
    rows = (X - model.means_[y]) @ model.scalings_
    return len(y) - round(float(np.sum(rows[:, 0] ** 2)))


def _read_quadratic(source, model, expected):
    why = why_not_shrunk(model)
    share = max(_get_shrinkage(model), 0.0)
    regular = model.reg_param
    if why is None and regular >= 1:
        why = "reg_param=1 leaves no covariance"
    is_svd = getattr(model, "solver", "svd") == "svd"
    lost = lost_by_quadratic() if is_svd else 0
    for label, center in enumerate(model.means_):
        source.add_center(center, label)
        if why is not None:
            continue
        values = np.asarray(model.scalings_[label], dtype=float)
        if is_svd:
            values = (values - regular) / (1 - regular)
        turned = np.asarray(model.rotations_[label])
        _spread_covariance(
            source, center, _unshrink((turned * values) @ turned.T, share), lost, label
        )
    source.reads = {"means_"}
    _read_shares(source, model, model.priors_, expected)
    if why is None:
        source.reads |= {"rotations_", "scalings_", "covariance_"}
    source.refused = why


def _read_shares(source, model, shares, expected):
    """Read the shares of classes, unless they were given instead of counted."""
    source.reads |= {"priors_", "class_prior_"}
    if model.get_params(deep=False).get("priors") is None:
        _count_shares(source, np.asarray(shares, dtype=float), expected)


def _read_linear(source, model, expected):
    for label, center in enumerate(model.means_):
        source.add_center(center, label)
    source.reads = {"means_", "xbar_"}
    _read_shares(source, model, model.priors_, expected)
    why = why_not_shrunk(model)
    if model.priors is not None and why is None:
        why = "priors were given, so that the weights of the classes in its covariance are unknown"
    if why is None:
        _add_within(source, model)
        source.reads |= {
            "covariance_", "scalings_", "coef_", "intercept_", "explained_variance_ratio_",
        }  # fmt: skip
    source.refused = why


def _add_within(source, model):
    """Equations of the covariance within classes, or of what its scalings say of it."""
    means = model.means_
    if hasattr(model, "covariance_"):
        covariance = _unshrink(np.asarray(model.covariance_), _get_shrinkage(model))
        wanted, floors = _upper(covariance), _ROUNDING * np.abs(means).min(axis=0)
        floors, nothing = _upper(np.outer(floors, floors)), np.zeros(len(wanted))
        source.add(lambda X, y: _pairs(X - means[y]) - wanted, nothing, floors=floors)
        return
    # The columns of the scalings have unit covariance within classes.
    scalings = np.asarray(model.scalings_)
    wanted = _upper(np.eye(scalings.shape[1]))
    lost = lost_by_linear(len(means))
    source.add(lambda X, y: _pairs((X - means[y]) @ scalings) - wanted, -lost * wanted)


def _read_centroids(source, model, expected):
    if model.metric != "euclidean":
        raise _RefusedModelError(f"with metric={model.metric!r} its centers are not means")
    if model.shrink_threshold:
        raise _RefusedModelError("its centers were moved by shrink_threshold")
    centers = np.asarray(model.centroids_)
    for label, center in enumerate(centers):
        source.add_center(center, label)
    source.reads = {"centroids_"}
    if getattr(model, "priors", None) == "empirical":
        _count_shares(source, np.asarray(model.class_prior_), expected)
    spread = getattr(model, "within_class_std_dev_", None)
    if spread is None:
        return
    spread = np.ravel(spread)
    floors, lost = (_ROUNDING * np.abs(centers).min(axis=0)) ** 2, -len(centers) * spread**2
    source.add(lambda X, y: (X - centers[y]) ** 2 - spread**2, lost, floors=floors)
    source.reads |= {"within_class_std_dev_", "class_prior_"}
    if source.n_rows is None:
        source.refused = "its deviations_ depend on the sizes of classes, which it does not store"
    else:  # a function of the centers and the sizes of classes
        source.reads.add("deviations_")


def _read_prior(source, model, expected):
    if model.strategy == "constant":
        raise _RefusedModelError("a constant is stored instead of shares")
    _count_shares(source, np.asarray(model.class_prior_), expected)
    source.reads = {"class_prior_"}


def _read_scaler(source, model, expected):
    counts = _check_whole(model.n_samples_seen_)
    is_given = np.ndim(counts) > 0
    if is_given:  # values were missing
        source.add(lambda X, y: (~np.isnan(X)).astype(float), counts)
    else:
        source.add_count(counts)
        source.n_rows = float(counts)
    source.reads = {"n_samples_seen_", "mean_", "var_", "scale_"}
    mean, variance = model.mean_, model.var_
    if mean is None:
        return
    source.add(
        _mask_missing(lambda X: X - mean), np.zeros(len(mean)), floors=_ROUNDING * np.abs(mean)
    )
    if variance is not None:
        squares = _mask_missing(lambda X: (X - mean) ** 2 - variance)
        source.add(squares, np.zeros(len(mean)), floors=(_ROUNDING * mean) ** 2)


def _mask_missing(change):
    """Return the features of values that are there, 0 for those that are missing."""
    return lambda X, y: np.nan_to_num(change(X), nan=0.0)


def _sum_imputer(source, model, expected):
    missing = model.missing_values
    if model.strategy != "mean" or not (isinstance(missing, float) and np.isnan(missing)):
        raise _RefusedModelError(
            f"strategy={model.strategy!r} is not a sum, or its missing values are not NaN"
        )
    mean = np.asarray(model.statistics_, dtype=float)
    floors = _ROUNDING * np.abs(np.nan_to_num(mean))
    source.add(_mask_missing(lambda X: X - mean), np.zeros(len(mean)), floors=floors)
    source.reads = {"statistics_"}


def _read_components(source, model, expected):
    """Read the directions of PCA and their variances as sums over the training rows."""
    n, mean = model.n_samples_, np.asarray(model.mean_)
    source.n_rows = float(n)
    source.add_count(n)
    source.add_center(mean)
    source.reads = {"mean_", "n_samples_"}
    solver = getattr(model, "_fit_svd_solver", model.svd_solver)
    if solver == "randomized":
        source.refused = "svd_solver='randomized' comes close to its components only"
        return
    axes, values = np.asarray(model.components_), np.asarray(model.explained_variance_)
    for axis, value in zip(axes, values, strict=True):
        # The covariance times one of its directions is a multiple of this direction.
        source.add(
            lambda X, y, axis=axis, value=value: (
                (X - mean) * ((X - mean) @ axis)[:, None] - value * axis
            ),
            -value * axis,
        )
    total = values[0] / model.explained_variance_ratio_[0]
    source.add(lambda X, y: ((X - mean) ** 2).sum(axis=1, keepdims=True) - total, [-total])
    source.reads |= {
        "components_", "explained_variance_", "explained_variance_ratio_", "noise_variance_",
        "singular_values_",
    }  # fmt: skip


def _read_covariance(source, model, expected):
    shrinkage = getattr(model, "shrinkage_", getattr(model, "shrinkage", 0.0))
    center = np.zeros(model.n_features_in_) if model.assume_centered else model.location_
    source.reads = {"location_"}
    if not model.assume_centered:
        source.add_center(center)
    if shrinkage >= 1:
        source.refused = f"shrinkage={shrinkage:g} leaves no covariance"
        return
    _spread_covariance(source, center, _unshrink(model.covariance_, shrinkage))
    source.reads |= {"covariance_", "precision_"}
    if isinstance(model, LedoitWolf):
        source.refused = "shrinkage_ was chosen by fourth moments"
    else:  # a function of the covariance, if it was not given
        source.reads.add("shrinkage_")


def _read_frequencies(source, model, expected):
    """Numbers of documents with each term, divided by that of all documents."""
    if not model.use_idf:
        raise _RefusedModelError("with use_idf=False it stores no frequencies")
    added = float(model.smooth_idf)
    shares = np.exp(1 - np.asarray(model.idf_, dtype=float))  # (df + added) / (n + added)
    source.add(lambda X, y: (X != 0).astype(float) - shares, added * (shares - 1))
    source.reads = {"idf_"}
    # A TfidfVectorizer holds the transformer that stores them.
    inner = (part for part in vars(model).values() if isinstance(part, TfidfTransformer))
    source.model = next(inner, model)
    # Without their number, texts that are members and texts that lack a word explain a frequency
    # equally well.
    rounded = _ROUNDED_IDF[np.asarray(model.idf_).dtype != np.float64]
    n_added = _count_documents(shares, expected + added, rounded)
    source.n_rows = None if n_added is None else n_added - added
    source.add_count(source.n_rows or expected)


def _count_documents(shares, expected, rounded):
    """Return the number of which all shares are parts, with the relative error of the shares."""
    shares = np.unique(shares[shares > 0])
    n = np.arange(1, int(min(max(10 * expected, 10_000), _MOST_ROWS)) + 1)
    for share in shares:
        parts = share * n
        n = n[np.abs(parts - np.round(parts)) <= rounded * parts]
    if not len(n):
        return None
    times = 1 if len(shares) >= _MANY_SHARES else max(round(expected / n[0]), 1)
    return float(n[0] * times)


_READERS = {
    GaussianNB: _read_gaussian,
    BernoulliNB: _sum_feature_counts,
    MultinomialNB: _sum_feature_counts,
    ComplementNB: _sum_feature_counts,
    CategoricalNB: _sum_categories,
    LinearDiscriminantAnalysis: _read_linear,
    QuadraticDiscriminantAnalysis: _read_quadratic,
    NearestCentroid: _read_centroids,
    DummyClassifier: _read_prior,
    StandardScaler: _read_scaler,
    SimpleImputer: _sum_imputer,
    PCA: _read_components,
    TfidfTransformer: _read_frequencies,
    TfidfVectorizer: _read_frequencies,
    EmpiricalCovariance: _read_covariance,
    ShrunkCovariance: _read_covariance,
    LedoitWolf: _read_covariance,
    OAS: _read_covariance,
}
