"""Check whether the relation of labels to features differs between members and non-members."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.stats import norm, rankdata
from sklearn.base import BaseEstimator
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.utils import gen_batches

from ..._core.budget import is_of_memory
from ..._core.containers import take_rows
from ..._core.groups import number_groups
from ..._core.kinds import is_regressor
from ..._core.numbers import check_number, show
from ..._core.outputs import PREDICTIONS
from ..._core.pvalues import format_pvalue
from ..._core.query import CHUNK, query_aligned, unwrap
from ..._core.randomness import check_random_state
from ..._core.records import Records, has_column
from ..._core.sample_weights import weights_for
from ..._core.skorch_nets import is_skorch
from ..._core.splits import compute_strata, draw_halves, number_units
from ..._core.trained_modules import refuse_trained_module
from ..._core.types import ArrayLike, Seed
from ..._core.validation import check_sides
from ..._training.frozen import make_recipe
from ..._training.job import Job, JobData, KeptResults, recorded_warnings
from ..._training.plan import plan_training
from ...exceptions import TrainingError
from ...signals import Loss
from ...victims import is_trainable
from .._case import check_pool_settings, check_trainable
from ._base import (
    DIFFERENCE,
    DRIFT_ERROR,
    NOT_RUN,
    PASSED,
    SOMETIMES,
    WARNING,
    BaseCheck,
    NextStep,
)
from ._units import pick_draws

_N_SPLITS = 5

# The statistics of two splits correlate by .07 to .45; more is assumed.
_CORRELATION = 0.5

# No further models are trained if the chance that they would lead to a warning is smaller. That
# costs at most .02 of a power of one half, and leaves 1.4 splits on average if nothing differs.
_HOPELESS = 0.05

# As of the baseline without the model: with so many records a drift that matters is seen, and no
# more of a table that is larger than memory is read.
MOST_RECORDS = 20_000

# Independent units in each half of a side.
_FEWEST = 20

# Smallest probability: a model that is sure and wrong must not outweigh all other records.
_FLOOR = 0.01


@dataclass(frozen=True)
class DriftResult:
    """Comparison of models of members with models of non-members, on records that both left out.

    Attributes
    ----------
    statistic : float
        Mean of the standardized rank sums of the splits, divided by its largest standard error; at
        most standard normal if nothing differs. Higher means that records are predicted better by
        the model of their own side.
    pvalue : float
        Probability of such a statistic, or a higher one, if nothing differs.
    auc : float
        AUC of the comparison of the two models, mean over the splits.
    loss_auc : float
        AUC of the loss of the model of the members alone, on records that it left out: what an
        attack by the loss finds on a model that knows none of them.
    n_splits : int
        Number of splits that were made; two models are compared in each.
    n_trained : int
        Number of members that the model of the members is trained on, mean over the splits.
    """

    statistic: float
    pvalue: float
    auc: float
    loss_auc: float
    n_splits: int
    n_trained: int

    @property
    def is_warning(self) -> bool:
        """Whether the p-value is at most .5%."""
        return self.pvalue <= DRIFT_ERROR


class UnansweredError(ValueError):
    """The check cannot be made with this model and these records."""


def drift_test(
    estimator: BaseEstimator,
    records: Records,
    membership: ArrayLike,
    *,
    n_splits: Literal["auto"] | int = "auto",
    fit_params: Mapping[str, Any] | Callable[..., Mapping[str, Any]] | None = None,
    n_jobs: int | None = None,
    random_state: Seed = None,
) -> DriftResult:
    """Test whether labels depend on features in another way for members than for non-members.

    Members and non-members are each split into halves. A clone of the estimator is trained on one
    half of the members, and another clone on one half of the non-members. Each record of the other
    halves is then compared under both: by the difference of the log probabilities of its label, in
    which no probability is below .01; by the difference of the squared errors for a regressor; by
    that of correct predictions for a classifier without probabilities. If these differences rank
    members above non-members, then a model that was trained on members predicts other members
    better for a reason that is not its memory: another time or source, or labels that were assigned
    in another way.

    Every second split keeps the model of the members, and the halves of the non-members change
    places, so that it costs one model. If records of both sides belong together, it is drawn anew.

    The rank sums of the splits are standardized as under permuted membership of the left-out
    records. They depend on each other, so the variance of their mean is computed for a correlation
    of one half.

    Parameters
    ----------
    estimator : estimator
        Model like the victim, fitted or not; it is cloned.
    records : Records of n records
        Labeled records, members and non-members mixed. Records with one value of ``group_by`` are
        in the same half and are one draw of the test, and equal records are in the same half. If
        equal records are on one side more often than by chance, they are copies, and count as one
        draw for each side. A field ``sample_weight`` is passed to the clones. If there are more
        than 20,000 records, a random sample of this size is used.
    membership : array-like of shape (n,)
        1 for members of the victim, 0 for others.
    n_splits : "auto" or int, default="auto"
        Number of splits. "auto" makes 1 for neural nets, and 5 for other models, or fewer if the
        first ones leave a chance of less than 5% that all together lead to a warning.
    fit_params : dict or callable, default=None
        Further parameters of ``fit``, as in :class:`~skmia.ShadowPool`.
    n_jobs : int, default=None
        Number of models trained in parallel. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls the splits and the training of the clones. Pass an int for reproducible results.

    Returns
    -------
    result : DriftResult

    Raises
    ------
    ValueError
        If a side has fewer than 40 records (or people, or different records), if a class is in one
        half of a side alone for most splits, if the estimator cannot be trained on the halves, or
        if a parameter is out of range.
    TypeError
        If the records have no labels, or the estimator has no ``fit`` method.

    See Also
    --------
    blind_baseline : Looks for a difference in the records without a model like the victim.
    negative_control : Attacks a model whose training did not depend on membership.

    Notes
    -----
    The model that is trained on half of the members knows fewer records than the victim and finds
    less, so ``loss_auc`` must not be subtracted from the AUC of an attack on the victim. :ref:`The
    guide <drift>` says what a warning means, and what to do about near copies of records.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skmia import Records
    >>> from skmia.report import drift_test
    >>> rng = np.random.default_rng(0)
    >>> X, membership = rng.normal(size=(1000, 5)), np.arange(1000) % 2
    >>> y = (X[:, 0] + rng.normal(size=1000) > 0).astype(int)
    >>> drift_test(LogisticRegression(), Records(X, y), membership, random_state=0).pvalue > 0.005
    True
    >>> later = np.where(membership == 1, X[:, 0], X[:, 1])  # members follow another rule
    >>> y = (later + rng.normal(size=1000) > 0).astype(int)
    >>> drift_test(LogisticRegression(), Records(X, y), membership, random_state=0).pvalue < 0.001
    True
    """
    membership = check_sides(records, membership, targets=True)
    check_pool_settings("drift_test", n_jobs=n_jobs)
    check_trainable(estimator)
    how = {"n_splits": n_splits, "fit_params": fit_params, "n_jobs": n_jobs}
    return _test_drift(estimator, records, membership, random_state=random_state, **how)


def _test_drift(
    estimator, records, membership, *, n_splits, fit_params, n_jobs, random_state, half_models=()
):
    """Do so, with clones of the estimator that were trained on a half of the members before.

    Each of them takes the place of the model of the members in one split. Membership decides
    nothing else in how it was trained, so the records that it left out are compared as before.
    """
    model, is_chosen = unwrap(estimator), isinstance(n_splits, str)
    n_splits = _check_splits(n_splits, model)
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    if len(records) > MOST_RECORDS:
        rng = np.random.default_rng(seed)
        rows = np.sort(rng.choice(len(records), MOST_RECORDS, replace=False))
        records, membership, half_models = records[rows], membership[rows], ()
    seeds = np.random.SeedSequence(seed).spawn(n_splits)
    units, fits = _number_sets(records, membership), {}
    splits = _draw_splits(model, records, membership, units, seeds, half_models, fits)
    _check_classes(model, records, membership, splits)
    draws, numbers = _number_draws(records, membership, units), []
    step = 1 if is_chosen else n_splits
    while not numbers or (len(numbers) < n_splits and not _is_hopeless(numbers, n_splits)):
        some = range(len(numbers), len(numbers) + step)
        found = _compare_halves(model, records, splits, some, fits, seeds, n_jobs, fit_params)
        for k, scores in zip(some, found, strict=True):
            left_out = splits[k].left_out
            numbers.append(_rank_left_out(scores, membership[left_out], draws[left_out]))
    z, auc, loss_auc = np.mean(numbers, axis=0)
    n_made, statistic = len(numbers), z / _largest_split_error(len(numbers))
    n_trained = round(np.mean([split.trained[0].sum() for split in splits[:n_made]]))
    found = map(float, (statistic, norm.sf(statistic), auc, loss_auc))
    return DriftResult(*found, n_made, int(n_trained))


def _largest_split_error(n_splits):
    """Return the largest standard error of the mean of the standardized rank sums of the splits."""
    return np.sqrt((1 + (n_splits - 1) * _CORRELATION) / n_splits)


def _is_hopeless(numbers, n_splits):
    """Return whether the splits that remain have hardly a chance to lead to a warning.

    A warning needs the mean of all, and the splits that remain are taken for new draws with the
    mean of those that were made. As correlations make draws more alike, none is assumed here. No
    warning depends on fewer splits than all, so its level is kept.
    """
    n_made, mean = len(numbers), np.mean(numbers, axis=0)[0]
    n_left = n_splits - n_made
    needed = (
        n_splits * norm.isf(DRIFT_ERROR) * _largest_split_error(n_splits) - n_made * mean
    ) / n_left
    return norm.sf((needed - mean) / np.sqrt(1 / n_made + 1 / n_left)) < _HOPELESS


def _check_splits(n_splits, model):
    if isinstance(n_splits, str) and n_splits == "auto":
        return 1 if _contains_net(model) else _N_SPLITS
    allowed = '"auto" or an integer from 1'
    return int(check_number(n_splits, "n_splits", allowed, 1, whole=True))


def _contains_net(model):
    """Return whether a model, or a part of it, is a neural net, whose training takes long."""
    parts = [model, *model.get_params(deep=True).values()]
    return any(isinstance(part, MLPClassifier | MLPRegressor) or is_skorch(part) for part in parts)


class HalvesSplit(NamedTuple):
    """One split of the members and of the non-members into halves."""

    trained: np.ndarray  # of shape (2, n), the halves on which the two models are trained
    left_out: np.ndarray  # positions of the records of the other halves
    first: int  # number of the split whose model of the members it takes: this one, or one before


def _number_sets(records, membership):
    """Number the sets of records that stay in one half; each side needs forty of them."""
    units = number_units(records.fingerprint, records.fields.get("group_by"))
    fewest = min(len(np.unique(units[side])) for side in (membership, ~membership))
    if fewest < 2 * _FEWEST:
        raise UnansweredError(
            f"One side has {fewest} independent records (different ones, of different people); the "
            f"check needs {2 * _FEWEST} members and as many non-members."
        )
    return units


def _draw_splits(model, records, membership, units, seeds, half_models, fits):
    """Split each side into halves, for each seed; enter in fits what given models say, by number.

    Every second split has the members of the one before, and the other half of the non-members. If
    a set of records has both, as each member is a copy of a non-member, nothing could change.
    """
    is_member, is_other = np.zeros((2, units.max() + 1), dtype=bool)
    is_member[units[membership]] = is_other[units[~membership]] = True
    is_apart = not (is_member & is_other).any()
    given, splits = iter(half_models), []
    for k, seed in enumerate(seeds):
        if is_apart and k % 2:
            splits.append(_exchange_others(splits[-1], membership))
            continue
        one = next(given, None)
        splits.append(_draw_split(model, records, membership, units, seed, k, one))
        if one is not None:
            fits[k] = one.fits
    return splits


def _draw_split(model, records, membership, units, seed, number, given=None):
    """Split each side into halves, by class; members as those of a given model, if there is one."""
    is_class = not is_regressor(model)
    classes = compute_strata(records.y, True) if is_class else np.zeros(len(records), dtype=int)
    strata = np.unique(2 * classes + membership, return_inverse=True)[1]
    rng = np.random.default_rng(seed)
    half = draw_halves(units, strata, len(records), rng)[0]
    if given is not None:  # what is equal to a member, or of the same person, goes with it
        is_settled, is_trained = np.zeros((2, units.max() + 1), dtype=bool)
        is_settled[units[membership]] = is_trained[units[given.inside]] = True
        half = np.where(is_settled[units], is_trained[units], half)
    return HalvesSplit(
        np.stack([half & membership, half & ~membership]), np.flatnonzero(~half), number
    )


def _exchange_others(split, membership):
    """Return the split in which the halves of the non-members have changed places."""
    of_members, of_others = split.trained
    of_others = ~membership & ~of_others
    left_out = np.flatnonzero(~(of_members | of_others))
    return HalvesSplit(np.stack([of_members, of_others]), left_out, split.first)


def _check_classes(model, records, membership, splits):
    """Refuse records of which a class is in one half of a side alone for most splits."""
    if is_regressor(model):
        return
    labels, codes = np.unique(records.y, return_inverse=True)
    n_bad, example = 0, None
    for split in splits:
        for side, trained in zip((membership, ~membership), split.trained, strict=True):
            halves = trained, side & ~trained
            counts = [np.bincount(codes[half], minlength=len(labels)) > 0 for half in halves]
            alone = counts[0] != counts[1]
            if alone.any():
                n_bad, example = n_bad + 1, labels[alone].tolist()[0]
                break
    if 2 * n_bad > len(splits):
        raise UnansweredError(
            f"The class {show(example)} has so few members or non-members that only one half of "
            "them has it."
        )


@dataclass(frozen=True)
class _LeftOutScorer:
    """Keeps how well a model predicts the records that were left out; it travels to workers."""

    left_out: list  # for each model

    def __call__(self, trained):
        rows, data = self.left_out[trained.number], trained.data
        classes = None if is_regressor(trained.model) else np.unique(data.y)
        scores = np.empty(len(rows))
        with recorded_warnings():
            for block in gen_batches(len(rows), CHUNK):
                X = take_rows(data.tables[0], rows[block])
                try:
                    outputs = query_aligned(trained.model, X, classes)
                    scores[block] = _score_labels(outputs, data.y[rows[block]])
                except Exception as error:  # of whatever kind, such as a category it did not see
                    reason = " ".join(f"{type(error).__name__}: {error}".split())
                    raise TrainingError(
                        f"{type(trained.model).__name__} was trained on half of one side and could "
                        f"not predict the other half: {reason}"
                    ) from error
        return KeptResults({}, {"scores": scores})


def fit_labels(outputs, y):
    """Return how well each label is predicted.

    None if the answers do not tell, or not of each label.
    """
    if outputs.kind not in PREDICTIONS:
        if outputs.classes is None or not np.isin(y, outputs.classes).all():
            return None
    return _score_labels(outputs, y)


def _score_labels(outputs, y):
    """Return how well each label is predicted; higher is better."""
    if outputs.kind in PREDICTIONS:
        errors = -Loss()(outputs, y)
        return -np.minimum(errors, np.finfo(float).max)  # two infinite ones have no difference
    if outputs.kind in ("proba", "logits"):
        own = outputs.log_proba()[np.arange(len(y)), outputs.label_index(y)]
        return np.clip(own, np.log(_FLOOR), 0)
    return outputs.is_correct(y).astype(float)


def _compare_halves(model, records, splits, some, fits, seeds, n_jobs, fit_params):
    """Train the models of some splits; return how well they predict the records left out.

    Return found of shape (2, n_left_out) for each. How models of members predict records is entered
    in fits, of shape (n,), by the number of the split for which they are trained.
    """
    try:
        refuse_trained_module(model)
        n_rows = int(splits[0].trained[0].sum())
        recipe = make_recipe(model, refit_frozen=True, fit_params=fit_params, n_rows=n_rows)
    except Exception as error:  # of whatever kind: it cannot be cloned, or not without its training
        reason = " ".join(str(error).split())
        raise UnansweredError(f"The model cannot be trained again: {reason}") from error
    children = {k: seeds[k].spawn(2) for k in some}
    # (split, side): the models of the members serve more than one split.
    of_members = dict.fromkeys(splits[k].first for k in some if splits[k].first not in fits)
    missing = [(k, 0) for k in of_members] + [(k, 1) for k in some]
    asked = [splits[k].left_out if i else np.flatnonzero(~splits[k].trained[0]) for k, i in missing]
    job = Job(
        estimator=recipe.estimator,
        data=JobData(
            [records.X],
            records.y,
            weights_for(recipe.estimator, records),
            recipe.fit_params,
            has_column(records),
        ),
        subsets=np.stack([splits[k].trained[i] for k, i in missing]),
        seeds=[children[k][i] for k, i in missing],
        keep=_LeftOutScorer(asked),
        n_jobs=n_jobs,
    )
    try:
        kept = dict(plan_training(job, batched=False).run(job))
    except TrainingError as error:
        raise UnansweredError(f"The check trains models on half of one side. {error}") from error
    found = {pair: kept[number].arrays["scores"] for number, pair in enumerate(missing)}
    for k, rows in zip(of_members, asked, strict=False):
        fits[k] = np.full(len(records), np.nan)
        fits[k][rows] = found[k, 0]
    return [np.stack([fits[splits[k].first][splits[k].left_out], found[k, 1]]) for k in some]


def _number_draws(records, membership, units):
    """Return the number what was assigned to a side at once.

    -1 for copies of a record of the same side.
    """
    people = records.fields.get("group_by")
    persons = np.arange(len(records)) if people is None else number_groups(people, len(records))[1]
    picked = pick_draws(records.fingerprint, membership, people)
    if len(picked) == len(records):
        return persons
    draws = np.full(len(records), -1)
    draws[picked] = units[picked]
    return draws


def _rank_left_out(scores, membership, draws):
    """Compare left-out members with left-out non-members."""
    used = draws >= 0
    scores, membership, draws = scores[:, used], membership[used], draws[used]
    ranks = rankdata(scores[0] - scores[1])
    # A draw with records on both sides is one of each.
    sides, draws = np.unique(2 * draws + membership, return_inverse=True)
    sums = np.bincount(draws, ranks - ranks.mean())
    of_members = sides % 2 == 1
    m, n = of_members.sum(), len(sums)
    variance = m * (n - m) / n * sums.var(ddof=1)
    z = (sums[of_members].sum() - m * sums.mean()) / np.sqrt(variance) if variance > 0 else 0.0
    return z, _get_auc(ranks, membership), _get_auc(rankdata(scores[0]), membership)


def _get_auc(ranks, membership):
    m = membership.sum()
    return (ranks[membership].sum() - m * (m + 1) / 2) / (m * (len(ranks) - m))


class DriftCheck(BaseCheck):
    """Whether labels depend on features in the same way for members and for non-members."""

    name = part = "drift"
    role = DIFFERENCE
    presence = SOMETIMES
    passed = "Labels depend on features in the same way on both sides"
    warned = "Labels depend on features differently on each side"
    difference = "labels depend on features differently for members and for non-members"
    remedy = (
        "Leakage and drift cannot be distinguished. Use members and non-members of one time and "
        "one source."
    )
    step = NextStep(
        "Take both sides from one time and source.", "Leakage and drift look alike here."
    )

    def ask(self, case, run, findings):
        model = case.request.model
        if not hasattr(model, "get_params") or not is_trainable(model):
            return self.answer(
                NOT_RUN, "The model cannot be trained; pass estimator=, one that behaves like it."
            )
        try:
            found = _test_drift(
                model,
                case.records,
                case.membership,
                n_splits="auto",
                fit_params=case.request.fit_params,
                n_jobs=case.request.n_jobs,
                random_state=case.seeds["checks"],
                half_models=getattr(case.agreement, "half_models", ()),
            )
        except UnansweredError as error:
            if is_of_memory(error):  # it could have been answered, so its question is open
                raise
            return self.answer(NOT_RUN, str(error))
        if found.is_warning:
            return self.answer(WARNING, _describe_drift(found), found)
        p = format_pvalue(found.pvalue, 0)
        text = (
            f"{_SUBJECT} do not distinguish the other halves (AUC {found.auc:.3f}, {p}; a warning "
            f"is given at {DRIFT_ERROR:g} or below)."
        )
        return self.answer(PASSED, text, found)


_SUBJECT = (
    "Models of the victim's kind, one trained on half of the members and one on half of the "
    "non-members,"
)


def _describe_drift(found):
    """Return the finding in the words of the verdict, which repeats them."""
    text = (
        f"{_SUBJECT} distinguish the other halves (AUC {found.auc:.3f}): the relation of labels to "
        "features differs between the two sides."
    )
    if found.loss_auc > 0.5:
        text += (
            " A model that knew none of these members would rank them above the non-members (AUC "
            f"{found.loss_auc:.3f} by the loss, trained on {found.n_trained:,} records)."
        )
    return text
