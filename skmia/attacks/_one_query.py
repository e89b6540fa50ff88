"""Attack with one query per record, to which models with and without the record answer unlike."""

from collections.abc import Sequence
from numbers import Real
from typing import Literal

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils import gen_batches

from .._core.containers import take_rows
from .._core.groups import locate_labels
from .._core.needs import Needs
from .._core.numbers import show
from .._core.query import check_victim
from .._core.records import Records
from .._core.sklearn import Interval, StrOptions, at_least
from .._core.types import Frozen, Rows
from .._core.validation import check_records, order_features
from ..base import BaseAttack, get_pool
from ..shadow import ShadowPool
from ..signals import (
    as_rows_of_numbers,
    as_scale,
    check_bounds,
    check_scale,
    compute_margin,
    is_right,
)
from ..victims import open_white_box

# Kinds of outputs that tell the predicted label.
CLASSES = frozenset({"proba", "logits", "decision", "label"})


def label_margin(box, points, y):
    """By how much the logit of the label exceeds the others, and its gradient."""
    return compute_margin(box, points, locate_labels(box.classes, y)[0])


def as_values(X, who):
    """Return the features as floating-point numbers, and a function that restores the container."""
    values, restore = as_rows_of_numbers(X, who)
    return values.astype(values.dtype if values.dtype.kind == "f" else float), restore


def open_boxes(records, models, who):
    """Open models, and check that they take the features of the records."""
    boxes, values = [open_white_box(model) for model in models], as_values(records.X, who)[0]
    for box in boxes:
        if box.classes is None:
            raise ValueError(f"{who} needs classifiers; got a pool of regressors.")
        inputs = box.encode(records.X)
        if inputs.shape != values.shape or not np.array_equal(inputs, values.astype(inputs.dtype)):
            raise ValueError(
                f"{who} changes the features that the shadow models take, and these models "
                "transform them first; transform the features of the records instead."
            )
    return boxes


class QueryAttack(BaseAttack):
    """Base class of attacks that ask the victim for the label of one query per record.

    A subclass implements _can_judge(records) and _make_queries(records): the queries, and about
    which of them the victim is asked.
    """

    def _open_pool(self, records):
        """Check the settings, and set the pool, which must keep its models."""
        check_victim(self.victim)
        check_scale(self.scale)
        if self.bounds is not None:
            check_bounds(self.bounds)
        self.pool_ = get_pool(self, records)
        if self.pool_.estimators_ is None:
            raise ValueError(
                f"{type(self).__name__} makes its queries with the shadow models; fit the pool "
                'with store="models".'
            )

    def _refuse_unjudged(self, records, wanted):
        if not self._can_judge(records).any():
            raise ValueError(
                f"{type(self).__name__} requires at least {wanted} shadow models per record; none "
                f"of the {len(records)} records has them."
            )

    def make_queries(self, X: Records) -> Rows:
        """Make the query of each record.

        Parameters
        ----------
        X : Records of n records
            Records with their task labels.

        Returns
        -------
        queries : ndarray, DataFrame or torch tensor of n rows
            Rows in the form of ``X.X``.
        """
        return self._make_queries(order_features(self, check_records(X)))[0]

    def _score_samples(self, records):
        unknown = np.flatnonzero(~np.isin(records.y, self.pool_.classes_))
        if len(unknown):
            raise ValueError(
                f"{len(unknown)} of {len(records)} records have a task label that no shadow model "
                f"knows, first {show(records.y[unknown].tolist()[0])} at position {unknown[0]}."
            )
        scores = np.full(len(records), np.nextafter(0.5, 0))
        judged = np.flatnonzero(self._can_judge(records))
        if len(judged):
            some = records[judged]
            queries, is_asked = self._make_queries(some)
            scores[judged], asked = 0, np.flatnonzero(is_asked)
            if len(asked):
                rows, y = take_rows(queries, asked), some.y[asked]
                scores[judged[asked]] = is_right(self.victim, rows, y, type(self).__name__)
        return scores

    def _natural_offset(self, records):
        return 0.5


# Number of values in one array of a chunk of records; the search holds about ten such arrays.
_CELLS = 1 << 22

# Shares of the first and of the second moment that are kept, and what avoids a division by zero.
_FIRST, _SECOND, _SMALL = 0.9, 0.999, 1e-12

# Weights that "auto" chooses from, and the smallest pool that chooses, on how many records at most.
_PENALTIES = 0.3, 1.0, 3.0, np.inf
_FEWEST_TO_CHOOSE_BY, _N_RECORDS = 8, 1000


class _OpenedModels:
    """Opened shadow models, and for each record the weights of those that count as IN and OUT."""

    def __init__(self, boxes, units, inside, y):
        self.boxes, self.units, self.y = boxes, units, y
        self.known = [np.flatnonzero(np.isin(y, box.classes)) for box in boxes]
        n_in = inside.sum(axis=0)
        n_out = len(inside) - n_in
        self.weights = np.where(inside, 1 / np.maximum(n_in, 1), -1 / np.maximum(n_out, 1))

    def pull(self, points):
        """Return the objective of each point and its gradient.

        A model with the record should give its label to the point and one without should not.
        """
        loss, gradient = np.zeros(len(points)), np.zeros(points.shape)
        models = zip(self.boxes, self.units, self.known, self.weights, strict=True)
        for box, unit, known, weights in models:
            if not len(known):
                continue
            margin, slope = label_margin(box, points[known], self.y[known])
            margin, slope = margin / unit, slope / unit
            sign, size = np.sign(weights[known]), np.abs(weights[known])
            loss[known] += size * np.logaddexp(0, -sign * margin)
            pull = -weights[known] * expit(-sign * margin)
            gradient[known] += pull.reshape(-1, *[1] * (points.ndim - 1)) * slope
        return loss, gradient


class OneQueryAttack(QueryAttack):
    r"""Label-only attack with one query per record, which shadow models construct (YOQO).

    The query is a changed copy of the record. Shadow models that were trained on the record predict
    its label for the query, and other shadow models do not. The query is found with gradients of
    the shadow models, so that only one label of the victim is needed. A record is flagged as a
    member if the victim returns its label.

    Parameters
    ----------
    victim : fitted estimator
        Classifier under attack. It may return only labels.
    shadows : ShadowPool or int
        A fitted pool; an unfitted one is fitted once on the table from which the records given to
        ``fit`` were taken. An int is the number of clones of the victim to train. The pool must
        keep its models (``store="models"``), whose gradients :func:`skmia.victims.open_white_box`
        must be able to read, and which must take the features as they are, without a Pipeline that
        transforms them.
    penalty : "auto" or float, default="auto"
        Weight of the squared distance between the query and the record. ``"auto"`` chooses among
        0.3, 1, 3 and infinity, for which the query is the record itself: queries are constructed
        with half of the models, and the labels that the other half predicts for them are compared.
        With fewer than 8 models, it is 1.
    n_steps : int, default=50
        Number of steps of the search.
    step_size : float, default=0.1
        Length of a step in units of ``scale``.
    scale : float or sequence of float, default=1.0
        Unit of the features, one for all or one per feature; 1 for standardized features.
    bounds : tuple of two floats, default=None
        Smallest and largest value of a feature, such as (0, 1) for images. If None, features are
        not bounded.

    Attributes
    ----------
    offset_ : float
        Threshold of the score, 1/2 without ``membership``.
    penalty_ : float
        Weight of the squared distance.
    advantage_ : dict of float to float or None
        For each weight that was tried, the advantage (TPR - FPR) over the other half of the shadow
        models. None if there was no choice.
    pool_ : ShadowPool
        The fitted pool.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    Raises
    ------
    ValueError
        If the pool does not keep its models, if they transform the features, if no record has both
        IN and OUT models, or if the victim is a regressor.
    TypeError
        If the gradients of the shadow models are not available.

    See Also
    --------
    skmia.signals.BoundaryDistance : Distance to the boundary, by many labels per record.
    skmia.signals.LabelRobustness : Share of changed copies with the same label.

    Notes
    -----
    The score is 1 if the victim returns the label y for the query, and 0 otherwise; records without
    an IN or without an OUT model have a score just below 1/2. Let :math:`m_k` be the margin of
    shadow model k, its logit of y minus the largest other logit, in units of half of the median
    absolute margin of this model on the records given to ``fit``. The query minimizes

    .. math:: \frac{1}{|IN|} \sum_{k \in IN} \log(1 + e^{-m_k(x')})
        + \frac{1}{|OUT|} \sum_{k \in OUT} \log(1 + e^{m_k(x')})
        + \lambda \left\lVert \frac{x' - x}{s} \right\rVert^2

    with ``penalty`` :math:`\lambda` and ``scale`` s, by steps of Adam that start at the record; the
    best point on the way is used. Margins, their units, the squared distance and the choice of its
    weight are choices of this package. A query is one bit, so the ROC curve has one corner.

    References
    ----------
    Wu, Y., Qiu, H., Guo, S., Li, J. and Zhang, T. (2024). You only query once: an efficient
    label-only membership inference attack. ICLR.

    Examples
    --------
    >>> from sklearn.neural_network import MLPClassifier
    >>> from skmia import ShadowPool
    >>> from skmia.attacks import OneQueryAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(200, random_state=0)
    >>> members = records[membership == 1]
    >>> net = MLPClassifier((8,), solver="lbfgs", max_iter=2000, random_state=0)
    >>> victim = net.fit(members.X, members.y)
    >>> pool = ShadowPool(net, n_estimators=4, store="models", random_state=0).fit(records)
    >>> attack = OneQueryAttack(victim, pool).fit(records)
    >>> bool(attack.score(records, membership) > 0.1)
    True
    """

    _parameter_constraints = {
        **BaseAttack._parameter_constraints,
        "shadows": "no_validation",
        "penalty": [Interval(Real, 0, None, closed="both"), StrOptions({"auto"})],
        "n_steps": [at_least(1)],
        "step_size": [Interval(Real, 0, None, closed="neither")],
        "scale": [Real, "array-like"],
        "bounds": [list, tuple, None],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        shadows: ShadowPool | Frozen | int | None = None,
        *,
        penalty: float | Literal["auto"] = "auto",
        n_steps: int = 50,
        step_size: float = 0.1,
        scale: float | Sequence[float] = 1.0,
        bounds: tuple[float, float] | None = None,
    ) -> None:
        self.victim = victim
        self.shadows = shadows
        self.penalty = penalty
        self.n_steps = n_steps
        self.step_size = step_size
        self.scale = scale
        self.bounds = bounds

    def _needs(self):
        return Needs(
            CLASSES, access=frozenset({"queries"}), keeps=frozenset({"models", "gradients"})
        )

    def _fit(self, records, membership):
        self._open_pool(records)
        self._refuse_unjudged(records, "1 IN and 1 OUT")
        self._measure_margins(records)
        self.penalty_, self.advantage_ = self.penalty, None
        if self.penalty == "auto":
            self._choose_penalty(records)

    def _measure_margins(self, records):
        """Set the unit of the margins of each shadow model."""
        self._units, some = [], records[np.sort(np.argsort(records.fingerprint)[:_N_RECORDS])]
        for box in self._open(some):
            known = np.isin(some.y, box.classes)
            inputs = box.encode(some.X)[known]
            size = np.abs(label_margin(box, inputs, some.y[known])[0]) if len(inputs) else [1.0]
            self._units.append(max(float(np.median(size)) / 2, _SMALL))

    def _choose_penalty(self, records):
        """Compare the labels that half of the models give to the queries of the other half."""
        self.penalty_, n_models = 1.0, len(self.pool_.membership_)
        if n_models < _FEWEST_TO_CHOOSE_BY:
            return
        some = records[np.sort(np.argsort(records.fingerprint)[:_N_RECORDS])]
        pairs = np.arange(n_models) // 2  # a pair of the pool stays together
        making, asked = np.flatnonzero(pairs % 2 == 0), np.flatnonzero(pairs % 2)
        inside = self.pool_.membership(some).T
        usable = inside[making].any(axis=0) & ~inside[making].all(axis=0)
        if not usable.any():
            return
        some, inside = some[usable], inside[:, usable]
        self.advantage_ = {}
        for penalty in _PENALTIES:
            queries = self._find_queries(some, making, penalty)
            right = [
                is_right(self.pool_.estimators_[k], queries, some.y, "OneQueryAttack")
                for k in asked
            ]
            rates = [_advantage(hits, inside[k]) for hits, k in zip(right, asked, strict=True)]
            self.advantage_[penalty] = float(np.mean(rates))
        self.penalty_ = max(self.advantage_, key=self.advantage_.get)

    def _open(self, records, models=None):
        """Open the shadow models, and check that they take the features of the records."""
        estimators = self.pool_.estimators_
        chosen = estimators if models is None else [estimators[k] for k in models]
        return open_boxes(records, chosen, "OneQueryAttack")

    def _can_judge(self, records):
        n_in = self.pool_.count_inside(records)
        return (n_in > 0) & (n_in < len(self.pool_.membership_))

    def _make_queries(self, records):
        everyone = np.ones(len(records), dtype=bool)
        return self._find_queries(records, np.arange(len(self._units)), self.penalty_), everyone

    def _find_queries(self, records, models, penalty):
        values, restore = as_values(records.X, "OneQueryAttack")
        if np.isinf(penalty):
            return restore(values)
        boxes, units = self._open(records, models), [self._units[k] for k in models]
        inside, queries = self.pool_.membership(records).T[models], np.empty_like(values)
        size = max(1, _CELLS // max(1, int(np.prod(values.shape[1:]))))
        for rows in gen_batches(len(values), size):
            shadows = _OpenedModels(boxes, units, inside[:, rows], records.y[rows])
            queries[rows] = self._search(shadows, values[rows], penalty)
        return restore(queries)

    def _search(self, models, origin, penalty):
        scale = as_scale(self.scale, origin.shape[1:], "OneQueryAttack")
        change, first, second = (np.zeros(origin.shape) for _ in range(3))
        best, least = origin.copy(), np.full(len(origin), np.inf)
        for step in range(self.n_steps + 1):
            points = (origin + scale * change).astype(origin.dtype)
            if self.bounds is not None:
                points = np.clip(points, *self.bounds)
            loss, gradient = models.pull(points)
            loss += penalty * np.square(change).reshape(len(change), -1).sum(axis=1)
            better = loss < least
            best[better], least[better] = points[better], loss[better]
            gradient = gradient * scale + 2 * penalty * change
            first = _FIRST * first + (1 - _FIRST) * gradient
            second = _SECOND * second + (1 - _SECOND) * gradient**2
            mean = first / (1 - _FIRST ** (step + 1))
            spread = np.sqrt(second / (1 - _SECOND ** (step + 1)))
            change = change - self.step_size * mean / (spread + _SMALL)
        return best


def _advantage(right, inside):
    """Return how much larger the share of right labels is among members."""
    if inside.all() or not inside.any():
        return 0.0
    return right[inside].mean() - right[~inside].mean()
