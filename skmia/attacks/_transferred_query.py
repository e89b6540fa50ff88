"""Attack with one query per record, an adversarial one that transfers to the victim."""

import warnings
from collections.abc import Sequence
from numbers import Real
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state, gen_batches

from .._core.callers import level_of_user
from .._core.containers import (
    concat_columns,
    concat_rows,
    is_frame,
    is_tensor,
    refuse_foreign_table,
    take_rows,
)
from .._core.features import FeatureEncoder
from .._core.metric_inputs import RATE_TOLERANCE
from .._core.needs import Needs
from .._core.query import log_label_scores, query_aligned
from .._core.sklearn import Interval, StrOptions, at_least
from .._core.threads import on_one_thread
from .._core.types import Frozen, Seed
from ..base import BaseAttack
from ..shadow import ShadowPool
from ..signals import as_scale, is_right
from ._one_query import CLASSES, QueryAttack, as_values, label_margin, open_boxes

_SMALL = 1e-12
_WHO = "TransferredQueryAttack"


class ConfidencePath(NamedTuple):
    """Confidence along the path of each record, and the points of the path."""

    # (n_steps + 1, n): mean probability of the label by models that were not trained on the record;
    # not measured after a value below the one to walk until.
    confidence: np.ndarray
    take: object  # function that returns the point of each record at its step, as rows


def measure_confidence(models, outside, rows, y, classes):
    """Return the mean probability of the labels over the models that are outside of each record."""
    total = np.zeros(len(y))
    for model, chosen in zip(models, outside, strict=True):
        places = np.flatnonzero(chosen)
        if len(places):
            outputs = query_aligned(model, take_rows(rows, places), classes)
            label = outputs.label_index(y[places])
            total[places] += np.exp(log_label_scores(outputs)[np.arange(len(places)), label])
    return total / np.maximum(outside.sum(axis=0), 1)


class SwapSearch:
    """Replaces more and more features by those of records that models give another label."""

    def __init__(self, donors, predicted, n_partners, n_steps, random_state):
        refuse_foreign_table(donors.X, 'search="swap"')
        if sparse.issparse(donors.X) or is_tensor(donors.X):
            raise ValueError(
                'search="swap" takes features from an array or a table; got '
                f"{type(donors.X).__name__}."
            )
        self._donors, self._predicted = donors, predicted
        self._n_partners, self._n_steps = n_partners, n_steps
        rng = check_random_state(random_state)
        self._order = rng.uniform(size=(n_partners, *donors.X.shape[1:]))
        self._encoder = FeatureEncoder(donors)
        values = self._encoder.encode(donors)[:, :-1].astype(np.float64)
        with np.errstate(invalid="ignore"):
            known = np.isfinite(values)
            self._mean = np.where(known, values, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        self._unit = np.maximum(np.nan_to_num(values - self._mean).std(axis=0), _SMALL)

    def _place(self, records):
        """Return the standardized features; a missing value is the mean."""
        values = self._encoder.encode(records)[:, :-1]
        return np.nan_to_num((values - self._mean) / self._unit)

    def _choose_partners(self, records):
        """Positions of the nearest donors that models give another label than the record's."""
        own, theirs = self._place(records), self._place(self._donors)
        partners = np.zeros((len(records), self._n_partners), dtype=np.intp)
        for label in np.unique(records.y):
            rows = np.flatnonzero(records.y == label)
            others = np.flatnonzero(self._predicted != label)
            if not len(others):
                others = np.arange(len(theirs))
            nearest = NearestNeighbors(n_neighbors=min(self._n_partners, len(others)))
            with on_one_thread():
                found = others[nearest.fit(theirs[others]).kneighbors(own[rows])[1]]
            partners[rows] = np.resize(found.T, (self._n_partners, len(rows))).T
        return partners

    def walk(self, records, models, outside, classes, until=0.0):
        """Walk towards all partners at once, and keep the best partner at each step."""
        partners, n = self._choose_partners(records), len(records)
        confidence = np.ones((self._n_steps + 1, n))
        best = np.zeros((self._n_steps + 1, n), dtype=np.intp)
        left = np.arange(n)  # records whose paths have not ended
        for step in range(self._n_steps + 1):
            tried = self._n_partners if step else 1  # all paths begin at the record
            rows, chosen = np.repeat(left, tried), np.tile(np.arange(tried), len(left))
            mixed = self._mix(
                take_rows(records.X, rows), partners[rows, chosen], chosen, np.full(len(rows), step)
            )
            found = measure_confidence(models, outside[:, rows], mixed, records.y[rows], classes)
            found = found.reshape(len(left), tried)
            best[step, left], confidence[step, left] = found.argmin(axis=1), found.min(axis=1)
            left = left[confidence[step, left] >= until]
            if not len(left):
                break

        def take(steps):
            own = best[steps, np.arange(n)]
            return self._mix(records.X, partners[np.arange(n), own], own, steps)

        return ConfidencePath(confidence, take)

    def _mix(self, X, partner, chosen, steps):
        """Return rows with the features of their partners where these come early in the order."""
        share = (steps / self._n_steps).reshape(-1, *[1] * (len(X.shape) - 1))
        swapped = self._order[chosen] < share
        donors = self._donors.X
        if not is_frame(X):
            return np.where(swapped, donors[partner], X)
        columns = {}
        for j, name in enumerate(X.columns):
            both = concat_columns([X.iloc[:, j], donors.iloc[:, j]])
            place = np.where(swapped[:, j], len(X) + partner, np.arange(len(X)))
            columns[name] = both.iloc[place].reset_index(drop=True)
        return pd.DataFrame(columns)


class GradientSearch:
    """Follows gradients of half of the models that were not trained on the record.

    The other half says how confident such models still are.
    """

    def __init__(self, n_steps, step_size, scale, bounds):
        self._n_steps, self._step_size = n_steps, step_size
        self._scale, self._bounds = scale, bounds

    def walk(self, records, models, outside, classes, until=0.0):
        """Walk down the mean margin of the label."""
        is_source = outside & (np.cumsum(outside, axis=0) % 2 == 1)
        values, restore = as_values(records.X, _WHO)
        boxes = open_boxes(records, models, _WHO)
        path, confidence, momentum = [], [], np.zeros(values.shape)
        points = values
        for step in range(self._n_steps + 1):
            path.append(points)
            left = outside & ~is_source
            rows = restore(points)
            confidence.append(measure_confidence(models, left, rows, records.y, classes))
            if (confidence[-1] < until).all():
                break
            if step < self._n_steps:
                points, momentum = self._step(points, momentum, boxes, is_source, records.y)

        def take(steps):
            return restore(np.stack(path)[steps, np.arange(len(values))])

        return ConfidencePath(np.array(confidence), take)

    def _step(self, points, momentum, boxes, is_source, y):
        slope = np.zeros(points.shape)
        for box, chosen in zip(boxes, is_source, strict=True):
            rows = np.flatnonzero(chosen & np.isin(y, box.classes))
            if len(rows):
                slope[rows] += label_margin(box, points[rows], y[rows])[1]
        slope = slope * self._scale
        momentum = momentum + slope / (_mean_size(slope, np.abs) + _SMALL)
        length = np.sqrt(_mean_size(momentum, np.square))
        moved = points - self._step_size * self._scale * momentum / (length + _SMALL)
        if self._bounds is not None:
            moved = np.clip(moved, *self._bounds)
        return moved.astype(points.dtype), momentum


def _mean_size(values, of):
    """Return the mean over the features of each record, shaped so that it divides them."""
    return of(values).reshape(len(values), -1).mean(axis=1).reshape(-1, *[1] * (values.ndim - 1))


# Confidences that "auto" chooses from, and the number of shadow models that are treated as the
# victim for it, on how many records at most.
_CONFIDENCES = np.round(np.arange(0.025, 1.0, 0.025), 3)
_N_VICTIMS, _N_RECORDS, _FEWEST_TO_CHOOSE_BY = 8, 500, 6

# Number of records whose paths are held at once.
_N_AT_ONCE = 1000


class TransferredQueryAttack(QueryAttack):
    r"""Label-only attack with one adversarial query per record (OSLO).

    The query is a changed copy of the record, at which shadow models that were not trained on the
    record have just lost their confidence in its label. A victim that was trained on the record
    often still returns its label. Only the label that the victim predicts for the query is used.

    Parameters
    ----------
    victim : fitted estimator
        Classifier under attack. It may return only labels.
    shadows : ShadowPool or int
        A fitted pool; an unfitted one is fitted once on the table from which the records given to
        ``fit`` were taken. An int is the number of clones of the victim to train. The pool must
        keep its models (``store="models"``). The records under attack need not be in it.
    search : {"auto", "gradient", "swap"}, default="auto"
        How the query is found:

        - ``"gradient"``: by gradients of half of the shadow models, which must take the features as
          they are and be open to :func:`skmia.victims.open_white_box`; the other half says how
          confident they still are;
        - ``"swap"``: features are replaced, more at each step, by those of near records to which
          shadow models give another label. This is suitable for any model and for tables with
          categories;
        - ``"auto"``: by gradients if the shadow models have them, else by swaps.
    confidence : "auto" or float, default="auto"
        Mean probability of the label according to the shadow models, in (0, 1), below which the
        path of a record ends. Lower values lead to fewer false positives and fewer true positives.
        ``"auto"`` chooses it on shadow models that are treated as the victim; with fewer than 6
        models it is 0.5.
    target_fpr : float, default=None
        If given, ``confidence="auto"`` takes the value with the highest true positive rate among
        those with at most this false positive rate. If None, the value with the highest advantage.
    n_steps : int, default=20
        Number of steps of a path.
    n_partners : int, default=5
        Number of near records that are tried by ``"swap"``.
    step_size : float, default=0.1
        Length of a step by ``"gradient"``: root mean square of the changes of the features, in
        units of ``scale``.
    scale : float or sequence of float, default=1.0
        Unit of the features for ``"gradient"``, one for all or one per feature; 1 for standardized
        features.
    bounds : tuple of two floats, default=None
        Smallest and largest value of a feature for ``"gradient"``, such as (0, 1) for images. If
        None, features are not bounded.
    random_state : int, RandomState instance or None, default=None
        Controls the order in which features are swapped.

    Attributes
    ----------
    offset_ : float
        Threshold of the score, 1/2 without ``membership``.
    confidence_ : float
        Mean probability of the label below which a path ends.
    rates_ : dict of float to tuple or None
        For each confidence that was tried, the false and the true positive rate on shadow models.
        None if there was no choice.
    pool_ : ShadowPool
        The fitted pool.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    Raises
    ------
    ValueError
        If the pool does not keep its models, if no record has enough OUT models, or if the victim
        is a regressor.
    TypeError
        With ``search="gradient"``, if the gradients of the shadow models are not available.

    See Also
    --------
    OneQueryAttack : Uses gradients of models with and without the record.
    skmia.signals.BoundaryDistance : Distance to the boundary, by many labels per record.

    Notes
    -----
    The score is 1 if the victim returns the label of the record for its query, and 0 otherwise;
    records without an OUT model (with ``"gradient"``, without two) have a score just below 1/2. If
    a path does not end within ``n_steps``, the victim is not queried, and the score is 0;
    :meth:`make_queries` returns its last step.

    The search by swaps, the steps by momentum of the mean margin, and the choice of the confidence
    are choices of this package. A query is one bit, so the ROC curve has one corner.

    ``target_fpr`` is an average over training sets, estimated from at most eight shadow models. The
    rate of one victim can be far from it: at 10% requested, it was from 5% to 17% for 20 forests,
    and from 1% to 36% for 20 logistic regressions. ``fit`` warns if no confidence reaches the rate
    on shadow models, which happens for models that disagree strongly, such as saturated nets.

    References
    ----------
    Peng, Y., Roh, J., Maji, S. and Houmansadr, A. (2024). OSLO: one-shot label-only membership
    inference attacks. NeurIPS.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia import ShadowPool
    >>> from skmia.attacks import TransferredQueryAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(200, random_state=0)
    >>> members = records[membership == 1]
    >>> forest = RandomForestClassifier(10, random_state=0).fit(members.X, members.y)
    >>> pool = ShadowPool(forest, n_estimators=4, store="models", random_state=0).fit(records)
    >>> attack = TransferredQueryAttack(
    ...     forest, pool, n_steps=5, random_state=0
    ... )
    >>> bool(attack.fit(records).score(records, membership) > 0.1)
    True
    """

    _parameter_constraints = {
        **BaseAttack._parameter_constraints,
        "shadows": "no_validation",
        "search": [StrOptions({"auto", "gradient", "swap"})],
        "confidence": [Interval(Real, 0, 1, closed="neither"), StrOptions({"auto"})],
        "target_fpr": [Interval(Real, 0, 1, closed="neither"), None],
        "n_steps": [at_least(1)],
        "n_partners": [at_least(1)],
        "step_size": [Interval(Real, 0, None, closed="neither")],
        "scale": [Real, "array-like"],
        "bounds": [list, tuple, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        shadows: ShadowPool | Frozen | int | None = None,
        *,
        search: Literal["auto", "gradient", "swap"] = "auto",
        confidence: float | Literal["auto"] = "auto",
        target_fpr: float | None = None,
        n_steps: int = 20,
        n_partners: int = 5,
        step_size: float = 0.1,
        scale: float | Sequence[float] = 1.0,
        bounds: tuple[float, float] | None = None,
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.shadows = shadows
        self.search = search
        self.confidence = confidence
        self.target_fpr = target_fpr
        self.n_steps = n_steps
        self.n_partners = n_partners
        self.step_size = step_size
        self.scale = scale
        self.bounds = bounds
        self.random_state = random_state

    def _needs(self):
        gradients = {"gradients"} if self.search == "gradient" else set()
        return Needs(
            CLASSES, access=frozenset({"queries"}), keeps=frozenset({"models"} | gradients)
        )

    def _fit(self, records, membership):
        rng = check_random_state(self.random_state)
        self._open_pool(records)
        if self.pool_.classes_ is None:
            raise ValueError("TransferredQueryAttack needs classifiers; got a pool of regressors.")
        self._search = self._make_search(records, rng)
        self._refuse_unjudged(records, f"{self._fewest} OUT")
        self.confidence_, self.rates_ = self.confidence, None
        if self.confidence == "auto":
            self._choose_confidence(records)

    def _make_search(self, records, rng):
        """Set the least number of OUT models, and return the search."""
        donors = records[np.argsort(records.fingerprint, kind="stable")]
        if self.search == "gradient" or (self.search == "auto" and self._has_gradients(records)):
            self._fewest = 2
            name = type(self).__name__
            scale = as_scale(self.scale, as_values(records.X, name)[0].shape[1:], name)
            return GradientSearch(self.n_steps, self.step_size, scale, self.bounds)
        self._fewest = 1
        answers = self.pool_.answers(donors)
        outside = ~self.pool_.membership(donors).T
        mean = np.einsum("kn,knc->nc", outside, answers)
        predicted = self.pool_.classes_[mean.argmax(axis=1)]
        return SwapSearch(donors, predicted, self.n_partners, self.n_steps, rng)

    def _has_gradients(self, records):
        try:
            open_boxes(records[:1], self.pool_.estimators_[:1], type(self).__name__)
        except (TypeError, ValueError):
            return False
        return True

    def _choose_confidence(self, records):
        """Treat shadow models as the victim, without their pairs, and compare confidences."""
        self.confidence_, n_models = 0.5, len(self.pool_.estimators_)
        if n_models < _FEWEST_TO_CHOOSE_BY:
            return
        some = records[np.argsort(records.fingerprint, kind="stable")[:_N_RECORDS]]
        inside, rates = self.pool_.membership(some).T, []
        for victim in range(min(_N_VICTIMS, n_models)):
            others = np.arange(n_models) // 2 != victim // 2
            judged = (~inside[others]).sum(axis=0) >= self._fewest
            members = inside[victim][judged]
            if members.all() or not members.any():
                continue
            right = self._try(some[judged], victim, others, inside[others][:, judged])
            rates.append([[one[~members].mean(), one[members].mean()] for one in right])
        if rates:
            self._settle(np.mean(rates, axis=0))

    def _try(self, records, victim, others, inside):
        """Whether a shadow model keeps the labels, at the end of paths for each confidence."""
        models = [model for model, used in zip(self.pool_.estimators_, others, strict=True) if used]
        classes, least = self.pool_.classes_, _CONFIDENCES[0]
        walk = self._search.walk(records, models, ~inside, classes, least)
        asked, right = self.pool_.estimators_[victim], []
        for at in _CONFIDENCES:
            steps, has_ended = end(walk, at)
            kept = is_right(asked, walk.take(steps), records.y, type(self).__name__)
            right.append(kept & has_ended)
        return right

    def _settle(self, rates):
        """Choose the confidence with the best rates."""
        fpr, tpr = rates.T
        value = tpr - fpr
        if self.target_fpr is not None:
            value = np.where(fpr <= self.target_fpr + RATE_TOLERANCE, tpr, -fpr)
            if fpr.min() > self.target_fpr + RATE_TOLERANCE:
                warnings.warn(
                    f"target_fpr={self.target_fpr:g} is not reached on shadow models: the lowest "
                    f"rate of any confidence is {fpr.min():.2g}, and this confidence is used.",
                    stacklevel=level_of_user(),
                )
        self.confidence_ = float(_CONFIDENCES[np.argmax(value)])
        self.rates_ = {
            float(at): (float(low), float(high))
            for at, low, high in zip(_CONFIDENCES, fpr, tpr, strict=True)
        }

    def _can_judge(self, records):
        return (~self.pool_.membership(records)).sum(axis=1) >= self._fewest

    def _make_queries(self, records):
        """Return queries, and whether the path of each record ends."""
        made, ended = [], []
        for rows in gen_batches(len(records), _N_AT_ONCE):
            some = records[rows]
            outside = ~self.pool_.membership(some).T
            models, classes = self.pool_.estimators_, self.pool_.classes_
            walk = self._search.walk(some, models, outside, classes, self.confidence_)
            steps, has_ended = end(walk, self.confidence_)
            made.append(walk.take(steps))
            ended.append(has_ended)
        return concat_rows(made), np.concatenate(ended)


def end(walk, confidence):
    """First step at which the confidence is below a value, else the last, and which paths end."""
    below = walk.confidence < confidence
    has_ended = below.any(axis=0)
    return np.where(has_ended, below.argmax(axis=0), len(below) - 1), has_ended
