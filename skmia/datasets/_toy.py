"""A problem that is made, and the small data sets that come with scikit-learn, as records."""

from numbers import Real
from typing import Literal

import numpy as np
from sklearn import datasets
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from .._core.metric_inputs import check_option
from .._core.records import Records
from .._core.sklearn import Interval, StrOptions, at_least, validate_arguments
from .._core.threads import on_one_thread
from .._core.types import Seed

_CLUSTERS_PER_CLASS = 2
_BASKETS_PER_CLASS = 4
# Enough for classes that look like clusters; the last steps of k-means take most of its time.
_KMEANS_ITERATIONS = 20
_SHIPPED = "breast_cancer", "diabetes", "digits", "iris", "wine"


def _make_mixture(n_samples, n_features, n_classes, memorization, rng):
    centers = rng.standard_normal((_CLUSTERS_PER_CLASS * n_classes, n_features))
    cluster = rng.permutation(np.arange(n_samples) % len(centers))
    X = centers[cluster] + 0.5 * rng.standard_normal((n_samples, n_features))
    redrawn = rng.uniform(size=n_samples) < memorization
    y = np.where(redrawn, rng.randint(n_classes, size=n_samples), cluster % n_classes)
    return X, y


def _make_baskets(n_samples, n_features, n_classes, memorization, rng):
    if n_classes > n_samples:
        raise ValueError(f"{n_samples} rows cannot be clustered into {n_classes} classes.")
    popularity = rng.beta(1, 4, size=n_features)
    baskets = rng.uniform(size=(_BASKETS_PER_CLASS * n_classes, n_features)) < popularity
    # Mixed with the popularity, a basket says less about a row; items stay as frequent as before.
    probabilities = (1 - memorization) * baskets + memorization * popularity
    basket = rng.randint(len(baskets), size=n_samples)
    X = (rng.uniform(size=(n_samples, n_features)) < probabilities[basket]).astype(np.float32)
    # k-means++ would take ten times as long as all the rest for classes that are not better.
    kmeans = KMeans(
        n_classes, init="random", n_init=1, max_iter=_KMEANS_ITERATIONS, random_state=rng
    )
    with on_one_thread():
        return X, kmeans.fit(X).labels_


def _make_linear(n_samples, n_features, n_classes, memorization, rng):
    weights = rng.standard_normal(n_features)
    X = rng.standard_normal((n_samples, n_features))
    signal = X @ (weights / np.linalg.norm(weights))
    noise = rng.standard_normal(n_samples)
    y = np.sqrt(1 - memorization) * signal + np.sqrt(memorization) * noise
    return X, y.astype(np.float32)


_KINDS = {"baskets": _make_baskets, "mixture": _make_mixture, "regression": _make_linear}
_CONSTRAINTS = {
    "n_samples": [at_least(2)],
    "n_features": [at_least(1)],
    "n_classes": [at_least(2)],
    "kind": [StrOptions(set(_KINDS))],
    "memorization": [Interval(Real, 0, 1, closed="both")],
    "member_fraction": [Interval(Real, 0, 1, closed="neither")],
    "random_state": ["random_state"],
}


def _draw_membership(strata, fraction, rng):
    """Return the systematic sample along the sorted strata.

    Each gets its share, to within one record. Where the sample starts is not drawn.
    """
    order = np.lexsort((rng.uniform(size=len(strata)), strata))
    membership = np.empty(len(strata), dtype=np.intp)
    membership[order] = np.diff(np.round(fraction * np.arange(len(strata) + 1))).astype(np.intp)
    if membership.min() == membership.max():
        raise ValueError(
            f"member_fraction={fraction} leaves {len(strata)} records without a member or without "
            "a non-member."
        )
    return membership


def make_membership_problem(
    n_samples: int = 1000,
    *,
    n_features: int = 20,
    n_classes: int = 2,
    kind: Literal["mixture", "baskets", "regression"] = "mixture",
    memorization: float = 0.6,
    member_fraction: float = 0.5,
    random_state: Seed = None,
) -> tuple[Records, np.ndarray]:
    """Generate labeled records and their membership.

    A model that is trained on the members until it fits them has to memorize what cannot be
    learned, which membership attacks detect. ``memorization`` sets how much that is.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of records, members and non-members together.
    n_features : int, default=20
        Number of features. The clusters of "mixture" overlap when there are few of them.
    n_classes : int, default=2
        Number of classes; "regression" has none.
    kind : {"mixture", "baskets", "regression"}, default="mixture"
        - "mixture": two Gaussian clusters a class; a share ``memorization`` of the labels is drawn
          again, uniformly over all classes, so no model has an expected test accuracy above ``1 -
          memorization * (1 - 1 / n_classes)``.
        - "baskets": binary items. Each record is drawn from one of ``4 * n_classes`` baskets, sets
          of items; an item is in the record with probability ``(1 - memorization) * in_basket +
          memorization * popularity``. The labels are the k-means clusters of the records, as in the
          Purchase data [1]_. At 0 all records of a basket are equal; at 1 nothing is left of the
          baskets, and the classes are cut out of a cloud that has no clusters.
        - "regression": y is a linear function of the features plus Gaussian noise, of variance 1 in
          all; ``memorization`` is the share of the noise, so no model has an R^2 above ``1 -
          memorization``.
    memorization : float, default=0.6
        Amount of memorization that fitting the labels requires, 0 to 1.
    member_fraction : float, default=0.5
        Share of members. They are drawn within each class, whose number of members is its share,
        to within one record, so that the class of a record says nothing about its membership
        unless it has only a few records: both records of a class of two can be members.
    random_state : int, RandomState instance or None, default=None
        Controls the generation of the problem. Pass an int for reproducible results.

    Returns
    -------
    records : Records
        X of shape (n_samples, n_features), float32; y of integers from 0, or float32 for
        "regression".
    membership : ndarray of shape (n_samples,)
        1 for members and 0 for non-members.

    Raises
    ------
    ValueError
        If a parameter is out of its range or the split would leave no member or no non-member.

    Notes
    -----
    A table like Purchase100 [1]_ comes from ``make_membership_problem(20_000, n_features=600,
    n_classes=100, kind="baskets")``, in about a second. A net of 128 hidden units trained on half
    of it (Adam, 30 epochs, batches of 200) and attacked by LiRA with 16 shadow models had

    ============ ================= ============= ========
    memorization training accuracy test accuracy LiRA AUC
    ============ ================= ============= ========
    0.5          1.00              0.90          0.81
    0.6          1.00              0.75          0.90
    0.7          1.00              0.55          0.96
    ============ ================= ============= ========

    References
    ----------
    .. [1] R. Shokri, M. Stronati, C. Song and V. Shmatikov (2017). Membership inference attacks
       against machine learning models. IEEE S&P.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members, others = records[membership == 1], records[membership == 0]
    >>> victim = DecisionTreeClassifier(random_state=0).fit(members.X, members.y)
    >>> victim.score(members.X, members.y)
    1.0
    >>> victim.score(others.X, others.y) < 0.7
    True
    """
    validate_arguments(_CONSTRAINTS, locals(), "make_membership_problem")
    rng = check_random_state(random_state)
    X, y = _KINDS[kind](n_samples, n_features, n_classes, memorization, rng)
    if kind == "regression":
        strata = np.zeros(n_samples)
    else:
        y = strata = y.astype(np.intp)
    membership = _draw_membership(strata, member_fraction, rng)
    return Records(X.astype(np.float32, copy=False), y), membership


def load_sklearn(
    name: Literal["breast_cancer", "diabetes", "digits", "iris", "wine"],
    *,
    images: bool = False,
    as_frame: bool = False,
) -> Records:
    """Load a data set that is shipped with scikit-learn.

    Parameters
    ----------
    name : {"breast_cancer", "diabetes", "digits", "iris", "wine"}
        Name of the data set: 569 tumors of two kinds, 442 patients and how far their diabetes went
        on in a year (regression), 1,797 handwritten digits of 8 x 8 pixels, 150 irises of three
        species, or 178 wines of three growers. ``sklearn.datasets`` describes them.
    images : bool, default=False
        If True, X holds images of shape (8, 8) instead of rows of 64 pixels. Digits only.
    as_frame : bool, default=False
        If True, X is a DataFrame with the names of the features.

    Returns
    -------
    records : Records
        The records as scikit-learn has them: their features and task labels.

    Raises
    ------
    ValueError
        If ``images`` are asked for with ``as_frame`` or of another data set than the digits.

    Examples
    --------
    >>> from skmia.datasets import load_sklearn
    >>> load_sklearn("iris")
    Records(150 records, X=ndarray(150, 4), float64, y=int64)
    >>> load_sklearn("digits", images=True)
    Records(1797 records, X=ndarray(1797, 8, 8), float64, y=int64)
    """
    check_option(name, "name", _SHIPPED)
    if images and as_frame:
        raise ValueError(
            "A DataFrame cannot hold images; give images=True or as_frame=True, not both."
        )
    if images and name != "digits":
        raise ValueError(f"images=True is of the digits only; got name={name!r}.")
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True, as_frame=as_frame)
    return Records(X.reshape(-1, 8, 8) if images else X, y)
