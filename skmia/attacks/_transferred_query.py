"""Attack with one query per record, an adversarial one that transfers to the victim."""

import warnings
from collections.abc import Sequence
from numbers import Real
from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted

from .._core.asking import check_victim
from .._core.containers import concat_rows, take_rows
from .._core.needs import Needs
from .._core.records import Records
from .._core.sklearn import Interval, StrOptions, at_least
from .._core.types import Rows, Seed
from .._core.validation import check_records
from ..base import BaseAttack, get_pool
from ..shadow import ShadowPool
from ..signals._perturbation import as_scale, check_scale, is_right
from ._margins import CLASSES, as_values, check_bounds, check_labels, open_boxes
from ._transferred_paths import GradientSearch, SwapSearch

# Confidences that "auto" chooses from, and the number of shadow models that are treated as the
# victim for it, on how many records at most.
_CONFIDENCES = np.round(np.arange(0.025, 1.0, 0.025), 3)
_N_VICTIMS, _N_RECORDS, _FEWEST_TO_CHOOSE_BY = 8, 500, 6

# Number of records whose paths are held at once.
_N_AT_ONCE = 1000


class TransferredQueryAttack(BaseAttack):
    r"""Ask the victim for one label per record, of an adversarial query (OSLO).

    The query is a changed copy of the record, at which shadow models that were not trained on the
    record have just lost their confidence in its label. A victim that was trained on the record
    often still returns its label. Of the victim only the predicted label of this one row is used.

    Parameters
    ----------
    victim : fitted estimator
        Classifier under attack, in a :class:`~sklearn.frozen.FrozenEstimator`. It may return only
        labels.
    shadows : ShadowPool
        A fitted pool in a :class:`~sklearn.frozen.FrozenEstimator`; an unfitted one is fitted on
        the records given to ``fit``. It must keep its models (``store="models"``). The records
        under attack need not be in it.
    search : {"auto", "gradient", "swap"}, default="auto"
        How the query is found:

        - ``"gradient"``: by gradients of half of the shadow models, which must take the features as
          they are and be open to :func:`skmia.victims.open_white_box`; the other half says how
          confident they still are;
        - ``"swap"``: features are replaced, more at each step, by those of near records to which
          shadow models give another label. It suits any model and tables with categories;
        - ``"auto"``: by gradients if the shadow models have them, else by swaps.
    confidence : "auto" or float, default="auto"
        Mean probability of the label according to the shadow models, in (0, 1), below which the
        path of a record ends. Lower values lead to fewer false positives and fewer true positives.
        ``"auto"`` chooses it on shadow models that are treated as the victim; with fewer than 6
        models it is 0.5.
    target_fpr : float, default=None
        If given, ``confidence="auto"`` takes the value with the highest true positive rate among
        those with at most this false positive rate. If None, the value of the highest advantage.
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
    a path does not end within ``n_steps``, the victim is not asked, and the score is 0.

    The search by swaps, the steps by momentum of the mean margin, and the choice of the confidence
    are choices of this package; the published attack uses several transferable image attacks and
    confidences on a fixed grid. A query is one bit, so the ROC curve has one corner.

    ``target_fpr`` is an average over training sets, estimated from at most eight shadow models. The
    rate of one victim can be far from it: for 20 forests that were trained on different halves of
    300 records, at 10% requested, it was from 5% to 17%, and for 20 logistic regressions from 1% to
    36%. ``fit`` warns if no confidence reaches the rate on shadow models, which happens for models
    that disagree strongly, such as saturated nets.

    References
    ----------
    Peng, Y., Roh, J., Maji, S. and Houmansadr, A. (2024). OSLO: one-shot label-only membership
    inference attacks. NeurIPS.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.frozen import FrozenEstimator
    >>> from skmia import ShadowPool
    >>> from skmia.attacks import TransferredQueryAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(200, random_state=0)
    >>> members = records[membership == 1]
    >>> forest = RandomForestClassifier(10, random_state=0).fit(members.X, members.y)
    >>> pool = ShadowPool(forest, n_estimators=8, store="models", random_state=0).fit(records)
    >>> attack = TransferredQueryAttack(
    ...     FrozenEstimator(forest), FrozenEstimator(pool), n_steps=5, random_state=0
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
        shadows: ShadowPool | FrozenEstimator | None = None,
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
        check_victim(self.victim)
        check_scale(self.scale)
        check_bounds(self.bounds)
        rng = check_random_state(self.random_state)
        self.pool_ = get_pool(self.shadows, records)
        if self.pool_.estimators_ is None:
            raise ValueError(
                "TransferredQueryAttack makes its queries with the shadow models; fit the pool "
                'with store="models".'
            )
        if self.pool_.classes_ is None:
            raise ValueError("TransferredQueryAttack needs classifiers; got a pool of regressors.")
        self._search = self._make_search(records, rng)
        if not self._can_judge(records).any():
            raise ValueError(
                f"TransferredQueryAttack requires at least {self._fewest} OUT shadow models per "
                f"record; none of the {len(records)} records has them."
            )
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
            value = np.where(fpr <= self.target_fpr, tpr, -fpr)
            if fpr.min() > self.target_fpr:
                warnings.warn(
                    f"target_fpr={self.target_fpr:g} is not reached on shadow models: the lowest "
                    f"rate of any confidence is {fpr.min():.2g}, and this confidence is used.",
                    stacklevel=5,
                )
        self.confidence_ = float(_CONFIDENCES[np.argmax(value)])
        self.rates_ = {
            float(at): (float(low), float(high))
            for at, low, high in zip(_CONFIDENCES, fpr, tpr, strict=True)
        }

    def _can_judge(self, records):
        return (~self.pool_.membership(records)).sum(axis=1) >= self._fewest

    def _score_samples(self, records):
        check_labels(records, self.pool_)
        scores = np.full(len(records), np.nextafter(0.5, 0))
        judged = np.flatnonzero(self._can_judge(records))
        if len(judged):
            some = records[judged]
            queries, has_ended = self._make_queries(some)
            scores[judged] = 0
            asked = np.flatnonzero(has_ended)
            if len(asked):
                rows, y = take_rows(queries, asked), some.y[asked]
                scores[judged[asked]] = is_right(self.victim, rows, y, type(self).__name__)
        return scores

    def make_queries(self, X: Records) -> Rows:
        """Make the query of each record.

        Parameters
        ----------
        X : Records of n records
            Records with their task labels, in the pool or not.

        Returns
        -------
        queries : ndarray, DataFrame or torch tensor of n rows
            Rows in the form of ``X.X``; the last step of a path that does not end.
        """
        check_is_fitted(self)
        return self._make_queries(check_records(X))[0]

    def _make_queries(self, records):
        """Queries, and whether the path of each record ends."""
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

    def _natural_offset(self, records):
        return 0.5


def end(walk, confidence):
    """First step at which the confidence is below a value, else the last, and which paths end."""
    below = walk.confidence < confidence
    has_ended = below.any(axis=0)
    return np.where(has_ended, below.argmax(axis=0), len(below) - 1), has_ended
