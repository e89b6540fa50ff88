"""Attack by quantile regression, without shadow models."""

from itertools import combinations
from numbers import Real
from typing import Literal, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
from sklearn.utils import check_random_state

from .._core.copies import copy_unfitted
from .._core.features import FeatureEncoder
from .._core.groups import place_names, read_names
from .._core.needs import NOBODY, NON_MEMBERS, Needs
from .._core.query import query, unwrap
from .._core.randomness import seed_estimator
from .._core.records import Records, get_features, order_by_names
from .._core.sklearn import HasMethods, Interval, StrOptions, at_least
from .._core.splits import number_units
from .._core.threads import on_one_thread
from .._core.types import Seed
from .._core.validation import check_outputs_source, check_records, refuse_nan
from ..base import BaseAttack
from ..signals import COMPARED, Signal, auto_of, get_signal
from ..victims import open_white_box

# Lower bound of each record's scale as a share of the mean scale, because a regression can predict
# values of 0 or below.
_LEAST_SCALE = 0.05


def mix(values, seed):
    """Permute 64-bit numbers as a seed determines (the finalizer of SplitMix64).

    An array wraps around silently; a scalar would warn.
    """
    values = values + np.array([seed], np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        values = (values ^ (values >> np.uint64(shift))) * np.uint64(factor)
    return values ^ (values >> np.uint64(31))


class _UnitPrints:
    """A fingerprint of each record that records which belong together share.

    It is that of the record itself, unless records of the population with its value of group_by
    have others: a regressor knows people, not only their records.
    """

    def __init__(self, population):
        self._own = population.fingerprint  # sorted
        groups = population.fields.get("group_by")
        units = number_units(self._own, groups)
        self._shared = self._own[np.unique(units, return_index=True)[1]][units]
        names = () if groups is None else read_names(population, "group_by")
        self._groups, first = np.unique(names, return_index=True)
        self._of_group = self._shared[first]

    def of(self, records):
        prints = records.fingerprint
        place = np.minimum(np.searchsorted(self._own, prints), len(self._own) - 1)
        found = np.where(self._own[place] == prints, self._shared[place], prints)
        if not len(self._groups) or "group_by" not in records.fields:
            return found
        group = place_names(read_names(records, "group_by"), self._groups)
        return np.where(group < 0, found, self._of_group[group])


class _FittedRegression(NamedTuple):
    """A regressor of records, and the codes of the categories that it was fitted on."""

    encoder: FeatureEncoder
    model: object
    is_own: bool  # whether the user did not give it

    def predict(self, records):
        X = self.encoder.encode(records)
        with on_one_thread(self.is_own):
            return np.asarray(self.model.predict(X)).reshape(len(records))  # nets return a column


class _NonmemberScale(NamedTuple):
    """Location and scale of non-members of one fold, learned from the other folds."""

    location: _FittedRegression
    scale: _FittedRegression
    least_scale: float
    threshold: float = 0.0

    def standardize(self, records, values):
        scale = np.maximum(self.scale.predict(records), self.least_scale)
        return (values - self.location.predict(records)) / scale - self.threshold


class QuantileAttack(BaseAttack):
    r"""Attack that compares the signal with a predicted quantile of non-members.

    Regressors fitted on known non-members predict, from a record and its label, how the victim
    responds to such a non-member: the mean :math:`\mu(x, y)` of the signal :math:`s` and its mean
    absolute deviation :math:`\sigma(x, y)`. The score is the number of :math:`\sigma` by which the
    signal exceeds the quantile :math:`q(x, y) = \mu + \tau \sigma` that a share ``target_fpr`` of
    non-members exceeds. No shadow models are trained, and the victim's training need not be known.

    Parameters
    ----------
    victim : fitted estimator, default=None
        Classifier or regressor under attack. If None, the predictions stored by
        :meth:`skmia.Records.with_outputs` are used, and the population must hold them too.
    population : Records
        Known non-members from the same population as the records under attack. They may be among
        the records that are scored.
    signal : "auto", str or Signal, default="auto"
        Signal that is compared. ``"auto"`` is the log odds of the label for a classifier, the
        margin for a model without probabilities, and minus the log of the absolute residual for a
        regressor; probabilities of 0 and 1 are smoothed. For other names, see
        :func:`skmia.signals.get_signal_names`.
    features : {"records", "layer"}, default="records"
        Input of the regressors in addition to the label: the features of the records, with
        categories as codes, or the output of the last hidden layer (white box), which is suitable
        for images and texts.
    estimator : regressor, default=None
        Unfitted regressor of the mean and the deviation, or of quantiles of them, with the label as
        last column. Features are flattened and of single precision. If None, a
        :class:`~sklearn.ensemble.HistGradientBoostingRegressor` is used, or an
        :class:`~sklearn.ensemble.ExtraTreesRegressor` if X is sparse.
    target_fpr : float, default=0.05
        Share of non-members to flag. Each fold must have at least ``1 / target_fpr - 1`` records.
    cv : int, default=5
        Number of folds of the population, at least 3. The number of fits is ``cv * (cv + 3) / 2``.
    random_state : int, RandomState instance or None, default=None
        Controls the folds and the regressors.

    Attributes
    ----------
    thresholds_ : ndarray of shape (cv,)
        :math:`\tau` of each fold, in units of :math:`\sigma`.
    offset_ : float
        Threshold of the score: without ``membership`` the smallest float above 0.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    Raises
    ------
    ValueError
        If the population is missing, or too small for the folds or for ``target_fpr``.

    See Also
    --------
    CalibratedAttack : With ``reference="population"``, uses one threshold for all records.
    LiRA : Models each record's signal with shadow models.

    Notes
    -----
    The content of a record determines its fold, whether it is in the population or not, and it is
    scored by regressors that were fitted on the other folds, with a threshold from the population
    in its own. Records of the population with one value of ``group_by`` share a fold, and so does
    any other record with this value. So the score of a non-member is exchangeable with those that
    the threshold was taken from, and without ``membership`` it is flagged with a probability of at
    most ``target_fpr``, however accurate the regressors are (split conformal prediction). This is
    an average over populations: with one of n records the rate varies by about :math:`\sqrt{\alpha
    (1 - \alpha) / n}`. The guarantee does not hold if the population and the non-members under
    attack come from different populations, for example from different years.

    The scale is learned from residuals on folds that the model of the location has not seen. The
    published attack fits location and scale by one likelihood, or each quantile separately. An
    ``estimator`` that predicts quantiles, such as a net with a pinball loss, gives a quantile of
    the signal as the location and a quantile of the absolute residuals as the scale; the threshold
    keeps the rate for both.

    References
    ----------
    Bertran, M., Tang, S., Kearns, M., Morgenstern, J., Roth, A. and Wu, Z. S. (2023). Scalable
    membership inference attacks via quantile regression. NeurIPS.

    Vovk, V. (2015). Cross-conformal predictors. Annals of Mathematics and Artificial Intelligence.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia.attacks import QuantileAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(900, random_state=0)
    >>> members, outside = records[membership == 1], records[membership == 0]
    >>> victim = RandomForestClassifier(20, random_state=0).fit(members.X, members.y)
    >>> attack = QuantileAttack(
    ...     victim, population=outside[:300], target_fpr=0.1, cv=3, random_state=0
    ... )
    >>> guesses = attack.fit(records).predict
    >>> bool(guesses(outside[300:]).mean() < 0.2), bool(guesses(members).mean() > 0.5)
    (True, True)
    """

    _parameter_constraints = {
        **BaseAttack._parameter_constraints,
        "population": [Records, None],
        "signal": [str, Signal],
        "features": [StrOptions({"records", "layer"})],
        "estimator": [HasMethods(["fit", "predict"]), None],
        "target_fpr": [Interval(Real, 0, 1, closed="neither")],
        "cv": [at_least(3)],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        *,
        population: Records | None = None,
        signal: str | Signal = "auto",
        features: Literal["records", "layer"] = "records",
        estimator: BaseEstimator | None = None,
        target_fpr: float = 0.05,
        cv: int = 5,
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.population = population
        self.signal = signal
        self.features = features
        self.estimator = estimator
        self.target_fpr = target_fpr
        self.cv = cv
        self.random_state = random_state

    def _needs(self):
        signal = None if self.signal == "auto" else get_signal(self.signal)
        layers = frozenset({"layers"} if self.features == "layer" else ())
        lacks = ("population",) if self.population is None else ()
        return Needs(
            COMPARED if signal is None else frozenset(signal.reads),
            access=frozenset(() if signal is None else signal.access) | layers,
            known=NON_MEMBERS if lacks else NOBODY,
            lacks=lacks,
        )

    def _fit(self, records, membership):
        check_outputs_source(self.victim)
        if self.population is None:
            raise ValueError(
                "QuantileAttack learns from known non-members; pass them as population=Records."
            )
        check_records(self.population)
        population = order_by_names(self.population, get_features(records)[1])
        # Records are sorted by content, so that the result does not depend on their order.
        population = population[np.argsort(population.fingerprint, kind="stable")]
        rng = check_random_state(self.random_state)
        self._salt, seed = rng.randint(np.iinfo(np.int32).max, size=2).tolist()
        folds = self._cut_folds(population)
        self._smoothing = None
        values = self._compute_signal(population)
        self._usual = self._learn(self._read(population), values, folds, seed)
        self.thresholds_ = np.array([usual.threshold for usual in self._usual])

    def _cut_folds(self, population):
        """Assign the population to folds and set the bounds of the folds."""
        self._units = _UnitPrints(population)
        mixed = np.unique(mix(self._units.of(population), self._salt))
        if len(mixed) < self.cv:
            raise ValueError(
                f"cv={self.cv} folds need as many records in the population that do not belong "
                f"together; got {len(mixed)}."
            )
        self._bounds = mixed[np.arange(1, self.cv) * len(mixed) // self.cv]
        folds = self._assign_folds(population)
        smallest = np.bincount(folds).min()
        if self._compute_rank(smallest) > smallest:
            needed = int(np.ceil(1 / self.target_fpr - 1 - 1e-9))
            raise ValueError(
                f"target_fpr={self.target_fpr} needs {needed} records of the population in each of "
                f"cv={self.cv} folds; the smallest has {smallest}."
            )
        return folds

    def _assign_folds(self, records):
        return np.searchsorted(self._bounds, mix(self._units.of(records), self._salt), "right")

    def _compute_rank(self, n_records):
        """Return the rank of the threshold among n scores that a new score exceeds as rarely."""
        return int(np.ceil((1 - self.target_fpr) * (n_records + 1) - 1e-9))

    def _compute_signal(self, records):
        if self.signal != "auto":
            values = get_signal(self.signal).of(self.victim, records)
            return refuse_nan(np.asarray(values, dtype=np.float64))
        outputs = query(self.victim, records)
        if outputs.kind not in COMPARED:
            raise ValueError(
                "QuantileAttack compares probabilities, decision values or residuals; the victim "
                'returns labels: choose a signal such as "label_robustness".'
            )
        signal = auto_of(outputs.kind)
        raw = signal.raw(outputs, records.y)
        if self._smoothing is None:
            # The population holds non-members only, like one shadow model without members.
            models, no_members = raw[None, None], np.zeros((1, len(raw)), dtype=bool)
            self._smoothing = signal.fit_smoothing(models, no_members, outputs.values.dtype)
        return self._smoothing(raw)

    def _read(self, records):
        """Return the records as the regressors read them."""
        if self.features == "records":
            return records
        if self.victim is None:
            raise ValueError('features="layer" needs the victim; stored outputs have no layers.')
        box = open_white_box(self.victim)
        inputs = box.encode(records.X)
        names = box.layer_names(inputs[:1])
        if len(names) < 2:
            raise ValueError(
                f'The victim has no layer before its output; use features="records" for '
                f"{type(unwrap(self.victim)).__name__}."
            )
        (found,) = box.layer_outputs(inputs, names[-2:-1])
        return Records(found.reshape(len(found), -1), records.y)

    def _learn(self, population, values, folds, seed):
        """Learn location, scale and threshold of each fold."""
        estimator = self._make_estimator(population)
        seeds = iter(np.random.SeedSequence(seed).spawn(self.cv * (self.cv + 3) // 2))

        def regress(target, rows):
            model, chosen = copy_unfitted(estimator), population[rows]
            seed_estimator(model, next(seeds))
            encoder = FeatureEncoder(chosen)
            is_own, X = self.estimator is None, encoder.encode(chosen)
            with on_one_thread(is_own):
                return _FittedRegression(encoder, model.fit(X, target[rows]), is_own)

        # With two folds left out, a residual is out of sample and independent of the fold it is
        # used for.
        residuals = np.zeros((self.cv, len(folds)))
        for pair in combinations(range(self.cv), 2):
            location = regress(values, ~np.isin(folds, pair))
            for fold, other in (pair, pair[::-1]):
                rows = np.flatnonzero(folds == other)
                residuals[fold, rows] = np.abs(values[rows] - location.predict(population[rows]))
        learned = []
        for fold, deviation in enumerate(residuals):
            held = folds == fold
            least = _LEAST_SCALE * deviation[~held].mean() or 1.0
            usual = _NonmemberScale(regress(values, ~held), regress(deviation, ~held), least)
            excess = np.sort(usual.standardize(population[held], values[held]))
            learned.append(usual._replace(threshold=excess[self._compute_rank(len(excess)) - 1]))
        return learned

    def _make_estimator(self, population):
        if self.estimator is not None:
            return self.estimator
        if sparse.issparse(population.X):
            return ExtraTreesRegressor(min_samples_leaf=5)
        return HistGradientBoostingRegressor(learning_rate=0.05, max_leaf_nodes=15)

    def _score_samples(self, records):
        values, folds = self._compute_signal(records), self._assign_folds(records)
        records = self._read(records)
        scores = np.empty(len(records))
        for fold in np.unique(folds):
            rows = np.flatnonzero(folds == fold)
            scores[rows] = self._usual[fold].standardize(records[rows], values[rows])
        return scores

    def _natural_offset(self, records):
        # The threshold is the score of a record of the population; only scores above it are
        # flagged.
        return np.nextafter(0.0, 1.0)
