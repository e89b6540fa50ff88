"""Relative membership inference attack (RMIA)."""

from dataclasses import replace
from numbers import Real
from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator

from .._core.moments import CACHED, count_models, cut
from .._core.pseudo_victims import part_of, values_of
from .._core.records import Records
from .._core.sklearn import Interval, StrOptions
from .._core.types import Frozen
from .._core.validation import check_records
from ..base import Comparison, PoolAttack, TooFewModelsError, choose_by_power
from ..shadow import ShadowPool
from ..signals import COMPARED_JOINTLY, ScaledLogit, Signal, what_to_keep, what_to_read
from ._lira import UnsmoothedLabelLaw

# Difference of log ratios, in nats, up to which two records of the population tie.
_TIE = 1e-6

# Number of values whose probabilities are computed at once.
_N_VALUES = 1 << 18

# Below this value, a mean in single precision may have lost terms to underflow.
_SMALLEST_MEAN = 1e-30

# Settings that stay if there are too few models to choose by, and the number of models from which
# two fewer are enough to tell which setting is better.
_SETTLED = {"temperature": 1.0, "a": 0.3}
_FEWEST_TO_CHOOSE_BY = 8

# Values of `a` to choose from; of equally strong ones, the first is taken.
_VALUES_OF_A = 0.3, 0.0, 0.6, 0.8, 0.9, 1.0

# False positive rate below which the power on a few models varies too much to choose by.
_LEAST_RATE = 0.01

# Temperatures to choose from that a pool should keep, beside 1.
_FURTHER_TEMPERATURES = (2.0,)

# Step of probabilities above which smoothing by half of it changes the order of the ratios.
_WIDE_STEP = 1e-3

# Share of a sum below which the remainder of a subtraction has lost too many digits.
_LEAST_SHARE = 1e-9


def _log_mean_exp(values, chosen):
    """Return the log of the mean of exp(values) over the chosen models; axis 1 runs over models."""
    values = np.where(chosen, values, -np.inf)
    top = values.max(axis=1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    total = np.exp(values - top).sum(axis=1, dtype=np.float64)
    return np.log(total) - np.log(chosen.sum(axis=0)) + top[:, 0]


def _log_mean_likelihood(law, shadows, chosen=None):
    """Return log of the mean probability over the chosen models, or all, shape (n_queries, n)."""
    n_models, total = shadows.shape[1], np.zeros((len(shadows), shadows.shape[2]))
    count = n_models if chosen is None else count_models(chosen)
    for models in cut(n_models, max(1, _N_VALUES // shadows[:, 0].size)):
        likelihood = law.likelihood(shadows[:, models])
        if chosen is not None:
            likelihood *= chosen[models]
        total += np.add.reduce(likelihood, axis=1)
    mean = total / count
    rare = np.flatnonzero((mean < _SMALLEST_MEAN).any(axis=0))
    with np.errstate(divide="ignore"):
        log_mean = np.log(mean)
    if len(rare):
        values = law.log_likelihood(shadows[:, :, rare].astype(np.float64))
        some = np.ones((n_models, len(rare)), bool) if chosen is None else chosen[:, rare]
        log_mean[:, rare] = _log_mean_exp(values, some)
    return log_mean


class ModelLikelihoodRatio(Comparison):
    """Log ratio of the victim's likelihood and the mean one of the shadow models."""

    n_blocks, parts = 2, True  # longer rows are read faster, and nothing else is kept
    population, gamma = None, 1.0
    _unjudged = np.nextafter(0.0, -np.inf)  # before it is compared with a population

    def __init__(self, law, reads, a, online):
        self.law, self.reads, self.a, self.online = law, reads, a, online
        self.least, self.alternative = ((1, 0), "online=False") if online else ((0, 1), None)

    def score(self, target, shadows, inside, outside):
        chosen = inside | outside if self.online else outside
        chosen = None if chosen.all() else chosen
        return self._compare(target, _log_mean_likelihood(self.law, shadows, chosen))

    def _compare(self, target, log_mean):
        if not self.online:
            # a = 1 leaves only the first term, which may be far below the smallest float.
            with np.errstate(divide="ignore"):
                constant = np.log((1 - self.a) / 2)
            log_mean = np.logaddexp(np.log((1 + self.a) / 2) + log_mean, constant)
        return (self.law.log_likelihood(target.astype(np.float64)) - log_mean).mean(axis=0)

    def _finish(self, scores):
        if self.population is None:
            return scores
        return _share_beaten(scores - np.log(self.gamma), self.population)

    def _score_left_out(self, shadows, inside, models, others):
        likelihood, chosen = self.law.likelihood(shadows), ~inside
        chosen |= self.online
        likelihood *= chosen
        total = likelihood.sum(axis=1, keepdims=True, dtype=np.float64)
        count, has_other = count_models(chosen), others >= 0
        scores = np.empty((len(models), shadows.shape[2]))
        least, rare = np.maximum(_LEAST_SHARE * total, _SMALLEST_MEAN), False
        for some in cut(len(models), max(1, CACHED // shadows[:, 0].size)):
            rest, n_rest = total - likelihood[:, models[some]], count - chosen[models[some]]
            if has_other[some].any():
                rest -= values_of(likelihood, others[some]) * has_other[some]
                n_rest -= values_of(chosen[None], others[some])[0] & has_other[some]
            rare |= (rest < least).any(axis=(0, 1))
            log_mean = np.log(np.maximum(rest, least, out=rest) / n_rest)
            scores[some] = self._compare(shadows[:, models[some]], log_mean)
        rare = np.flatnonzero(rare)
        if len(rare):
            rest = shadows[:, :, rare], inside[:, rare], models, part_of(others, rare)
            scores[:, rare] = super()._score_left_out(*rest)
        return scores


class RMIA(PoolAttack):
    r"""Relative membership inference attack.

    The score compares the victim's probability of the label with the mean probability over shadow
    models, :math:`\log r(x) = \log p_\theta(x) - \log p(x)`. Online, :math:`p(x)` is the mean
    probability over all shadow models, IN and OUT; offline it is estimated from the OUT models as
    :math:`\frac12((1 + a)\,\bar p_{out}(x) + 1 - a)`. With a population, the score is the share of
    its records :math:`z` that the record beats, :math:`\Pr_z[r(x)/r(z) \ge \gamma]`, which makes
    scores comparable between victims but does not change their order within one.

    Parameters
    ----------
    victim : fitted estimator, default=None
        Model under attack. If None, the predictions stored by :meth:`skmia.Records.with_outputs`
        are used.
    shadows : ShadowPool or int
        A fitted pool, or an unfitted one, which is fitted once on the table from which the records
        given to ``fit`` were taken. An int is the number of clones of the victim to train, also
        once per table; to set ``n_jobs`` or ``random_state``, pass a pool.
    online : bool, default=True
        Whether to use the IN models. They exist only for records of the pool.
    signal : "auto", str or Signal, default="auto"
        Signal from which the probability of the label is computed: ``"auto"`` is the log odds at
        `temperature` for a classifier, the margin for a model without probabilities, and minus the
        log residual for a regressor. Other signals must have a likelihood, such as ``"loss"`` or
        ``"hinge"``, and the pool must store them or a signal that they are computed from.
    temperature : float or "auto", default="auto"
        Temperature by which the logits are divided before the softmax, for ``signal="auto"``; the
        pool must have stored it. ``"auto"`` takes the one of the temperatures that the pool stores,
        1 among them, with which the attack is strongest on shadow models treated as the victim, by
        `criterion`; with fewer than 8 models it takes 1, and so it does for a `target_fpr` below
        0.01 if the criterion is ``"auto"``.
    a : float or "auto", default=0.3
        How closely the probability under IN models is assumed to follow the probability under OUT
        models, in [0, 1]. Used offline only. ``"auto"`` chooses it, together with the temperature,
        in the same way; with fewer than 8 models 0.3.
    population : Records, default=None
        Records to compare with, preferably non-members; in the pool or new to it (requires
        ``store="models"``).
    gamma : float, default=1.0
        Ratio by which a record must beat a record of the population, at least 1.
    target_fpr : float, default=None
        Without ``membership``, the threshold is set so that this share of non-members is flagged,
        as measured on shadow models treated as the victim. The rate holds only if the victim was
        trained like the shadow models and on as many records (``max_samples`` of the pool); ``fit``
        warns if it was not.
    criterion : "auto", "roc_auc" or float, default="auto"
        Power by which ``"auto"`` chooses: the AUC, or the TPR at this FPR. ``"auto"`` is the TPR at
        `target_fpr` if this is set (at 0.01 if it is lower, and with temperature 1), else at the
        lowest FPR that the records resolve, as in
        :func:`skmia.model_selection.choose_by_power`.

    Attributes
    ----------
    temperature_ : float
        Temperature that is used.
    a_ : float
        Value of `a` that is used.
    power_ : DataFrame or None
        Power of all candidates with standard errors, as of
        :func:`skmia.model_selection.choose_by_power`; None if there was no choice.
    population_ratios_ : ndarray of shape (n_population,) or None
        Sorted log ratios of the population.
    offset_ : float
        Threshold of the score; by default with the highest balanced accuracy when shadow models
        are treated as the victim (with fewer than 4 models: 0, with a population 0.5).
    pool_ : ShadowPool
        The fitted pool.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    Raises
    ------
    ValueError
        If no record, or not every record of the population, has an IN model (offline: an OUT
        model), or a record is not in the pool.

    See Also
    --------
    LiRA : Likelihood-ratio attack that also models the spread of the signal.
    skmia.model_selection.choose_by_power : Chooses other settings in the same way.

    Notes
    -----
    The published score counts the population records that a record beats, so it takes as many
    values as there are population records. Here it is interpolated linearly, so that records do not
    tie. For regressors, the likelihood is normal with the spread of the residuals of OUT records,
    and the temperature is not used. Of several targets, it is the likelihood of their joint
    residual, :class:`~skmia.signals.LogResidual`, with half as many degrees of freedom as targets.

    ``temperature="auto"`` needs a pool that stores the temperature 1, and can only choose if the
    pool stores more. The pools of :class:`~skmia.ShadowPool` and of audits store 1 and 2. Which of
    them is stronger depends on the model; 2 is often the stronger one by the AUC and the weaker one
    at FPRs below 0.01.

    A record without an IN model (offline: without an OUT model) has a score just below that of the
    log ratio 0, see :meth:`can_judge`.

    References
    ----------
    Zarifzadeh, S., Liu, P. and Shokri, R. (2024). Low-cost high-power membership inference attacks.
    ICML.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia.attacks import RMIA
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(300, random_state=0)
    >>> members = records[membership == 1]
    >>> model = RandomForestClassifier(10, random_state=0).fit(members.X, members.y)
    >>> attack = RMIA(model, shadows=8).fit(records)
    >>> bool(attack.score(records, membership) > 0.4)
    True
    """

    _compares = COMPARED_JOINTLY
    _parameter_constraints = {
        **PoolAttack._parameter_constraints,
        "online": ["boolean"],
        "signal": [str, Signal],
        "temperature": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "a": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
        "population": [Records, None],
        "gamma": [Interval(Real, 1, None, closed="left")],
        "criterion": [Interval(Real, 0, 1, closed="neither"), StrOptions({"auto", "roc_auc"})],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        shadows: ShadowPool | Frozen | int | None = None,
        *,
        online: bool = True,
        signal: str | Signal = "auto",
        temperature: float | Literal["auto"] = "auto",
        a: float | Literal["auto"] = 0.3,
        population: Records | None = None,
        gamma: float = 1.0,
        target_fpr: float | None = None,
        criterion: float | Literal["auto", "roc_auc"] = "auto",
    ) -> None:
        self.victim = victim
        self.shadows = shadows
        self.online = online
        self.signal = signal
        self.temperature = temperature
        self.a = a
        self.population = population
        self.gamma = gamma
        self.target_fpr = target_fpr
        self.criterion = criterion

    def _reads(self):
        # Until the pool has chosen, the temperature that it must store.
        temperature = _SETTLED["temperature"] if self.temperature == "auto" else self.temperature
        return what_to_read(self.signal, temperature)

    def _needs(self):
        needs = super()._needs()
        if self.signal != "auto" or self.temperature != "auto":
            return needs
        read = [what_to_read("auto", temperature) for temperature in _FURTHER_TEMPERATURES]
        return replace(needs, uses=frozenset(map(what_to_keep, read)))

    def _choose_settings(self, records):
        given = {name: getattr(self, name) for name in _SETTLED}
        left = {name: value for name, value in _SETTLED.items() if given[name] == "auto"}
        settled, self.power_ = {**given, **left}, None
        self.pool_.locate_signal(self._reads())
        grid = {name: values for name, values in self._list_choices().items() if name in left}
        if grid and len(self.pool_.membership_) >= _FEWEST_TO_CHOOSE_BY:
            own = {**settled, "victim": None, "shadows": self.pool_}
            attack = type(self)(**{**self.get_params(deep=False), **own})
            try:
                choice = choose_by_power(attack, grid, records, criterion=self._choose_criterion())
            except TooFewModelsError:
                pass  # of records that are new to the pool, no model tells anything
            else:
                settled, self.power_ = settled | choice.params, choice.power
        self.temperature_, self.a_ = float(settled["temperature"]), float(settled["a"])

    def _list_choices(self):
        """Return settings with more than one value to choose from."""
        choices = {} if self.online else {"a": _VALUES_OF_A}
        rare = self.criterion == "auto" and (self.target_fpr or 1) < _LEAST_RATE
        if self.signal == "auto" and len(self.pool_.temperatures_) > 1 and not rare:
            choices["temperature"] = self.pool_.temperatures_
        return choices

    def _choose_criterion(self):
        if self.criterion != "auto":
            return self.criterion
        return "auto" if self.target_fpr is None else max(self.target_fpr, _LEAST_RATE)

    def _compare(self, records):
        self._choose_settings(records)
        reads = what_to_read(self.signal, self.temperature_)
        law, reading = self.pool_.get_law(reads), self.pool_.locate_signal(reads)
        step = float(self.pool_.resolution_[reading.place])
        if step > _WIDE_STEP and reading.signal == ScaledLogit():
            law = UnsmoothedLabelLaw(step)
        return ModelLikelihoodRatio(law, reads, self.a_, self.online)

    def _fit(self, records, membership):
        super()._fit(records, membership)
        self.population_ratios_ = None
        if self.population is not None:
            check_records(self.population, targets=True)
            self._check_population()
            reader, comparison = self._reader, self._comparison
            target = reader.of_victim(self.victim, self.population)
            ratios = np.sort(comparison._score_records(reader, self.population, target))
            self.population_ratios_ = comparison.population = ratios
            comparison.gamma, comparison.neutral = self.gamma, 0.5

    def _check_population(self):
        try:
            n_lacking = np.count_nonzero(~self._can_judge(self.population))
        except ValueError as error:
            raise ValueError(
                f"population must hold records that the shadow models can judge: {error}"
            ) from error
        if n_lacking:
            side, advice = ("IN", " or set online=False") if self.online else ("OUT", "")
            raise ValueError(
                f"population must hold records that have an {side} shadow model; {n_lacking} of "
                f"{len(self.population)} have none. Choose other records of the pool{advice}."
            )


def _share_beaten(values, reference):
    """Return the share of a sorted reference that each value reaches, strictly increasing.

    It is linear between two reference values and approaches 0 and 1 beyond the ends. Without jumps,
    the rounding of a value that ties with the reference does not matter.
    """
    n = len(reference)
    first = np.flatnonzero(np.diff(reference, prepend=-np.inf) > _TIE)
    last = np.append(first[1:], n)
    distinct = reference[first]
    reached = (first + last) / 2 / n
    share = np.interp(values, distinct, reached)
    beyond = 1 - (1 - reached[-1]) * np.exp(np.minimum(distinct[-1] - values, 0))
    below = reached[0] * np.exp(np.minimum(values - distinct[0], 0))
    return np.where(values > distinct[-1], beyond, np.where(values < distinct[0], below, share))
