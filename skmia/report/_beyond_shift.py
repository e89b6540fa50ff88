"""How much more an attack finds than the difference that the two sides have without training."""

import warnings
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from .._core.budget import format_apart, format_duration
from .._core.provenance import LapWatch, PartClock
from .._core.randomness import check_random_state
from .._core.splits import number_units
from ..base import has_own_victim
from ..metrics import check_resolution, membership_roc_curve, point_at_fpr
from ._budget import make_budget
from ._case import make_plan, train_victim
from ._file_attack import score_as_file
from ._measure import choose_usual, rank_attacks
from ._row_count import take_recipe
from ._run import run_attacks

_N_FOLDS = 5

# Independent members in each fold.
_FEWEST = 20

# Standard errors of the lower end, by which a difference is shown.
_N_ERRORS = 3.0


class AucExcess(NamedTuple):
    """Difference of the AUC on the victim and on members that a model has not seen, with limits."""

    estimate: float
    low: float
    high: float


class BeyondShift(NamedTuple):
    """What an attack finds of members, and of members that a model was not trained on."""

    attack: str
    auc: float
    auc_unseen: float
    excess: AucExcess
    rate: float | None  # false positive rate that is allowed; None if none can be measured
    tpr: float | None = None
    tpr_unseen: float | None = None
    fpr: float | None = None  # that is measured
    fpr_unseen: float | None = None


class UnseenMembers:
    """Models of the victim's recipe, each trained on the members but for a fold of them.

    A difference between the sides makes members look like members to an attack whether the model
    was trained on them or not. So each member is also scored by the same attack on a model that was
    trained on other members, and the difference of both is what training adds.
    """

    def __init__(self, case, seed):
        self._case, self._seed = case, seed
        units = number_units(case.records.fingerprint, case.records.fields.get("group_by"))
        self._units, own = units, np.unique(units[case.membership])
        if len(own) < _N_FOLDS * _FEWEST:
            raise ValueError(f"there are fewer than {_N_FOLDS * _FEWEST} independent members")
        dealt = np.full(units.max() + 1, -1)
        dealt[own] = check_random_state(seed).permutation(np.arange(len(own)) % _N_FOLDS)
        self._folds = np.where(case.membership, dealt[units], -1)

    def train(self, fold):
        """Return a case with a model that was trained without a fold as its victim."""
        case = self._case
        mask = case.membership & (self._folds != fold)
        settings = self._seed + fold, case.request.fit_params
        model = train_victim(take_recipe(case.request.model), case.records, mask, *settings)
        queried = case.records.with_outputs(model)
        if case.request.outputs.kind == "label":
            queried = queried.with_outputs(queried["outputs"].as_labels())
        request = case.request._replace(victim=model, outputs=queried["outputs"])
        return replace(case, queried=queried, request=request, unmatched=None)

    def compare(self, attack, scores, score):
        """Compare scores of the victim with those that a function gives for the case of a fold.

        The first fold says how long all of them will take.
        """
        budget, watch, unseen = make_budget(self._case), LapWatch(), []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for fold in range(_N_FOLDS):
                unseen.append(score(self.train(fold)))
                if not fold and (whole := _N_FOLDS * watch.lap() / watch.load) > budget.seconds:
                    taken, allowed = format_apart(format_duration, whole, budget.seconds)
                    raise ValueError(
                        f"{_N_FOLDS} models would be trained without some of the members and be "
                        f"attacked, which takes about {taken}, and {allowed} are allowed; audit "
                        "fewer records."
                    )
        return self._summarize(attack, np.asarray(scores, dtype=float), unseen)

    def _summarize(self, attack, scores, unseen):
        members = self._case.membership
        above, below = _place(scores[members], scores[~members])
        folds, n_others = self._folds[members], int((~members).sum())
        above_unseen, below_unseen = np.empty(len(folds)), np.zeros(n_others)
        aucs = np.empty(_N_FOLDS)
        for k, own in enumerate(unseen):
            inside = folds == k
            one, other = _place(own[members][inside], own[~members])
            above_unseen[inside] = one
            below_unseen += other * inside.mean()
            aucs[k] = _place(own[members], own[~members])[0].mean()
        auc, auc_unseen = above.mean(), above_unseen.mean()
        units = self._units
        sampling = _mean_variance(above - above_unseen, units[members])
        sampling += _mean_variance(below - below_unseen, units[~members])
        # Models vary with their training sets: by the jackknife over the folds, for the victim and,
        # as if it were trained on other records, for the models that it is compared with.
        models = 2 * (_N_FOLDS - 1) * aucs.var()
        error = _N_ERRORS * np.sqrt(sampling + models)
        gap = float(auc - auc_unseen)
        excess = AucExcess(gap, float(gap - error), float(gap + error))
        return BeyondShift(
            attack, float(auc), float(auc_unseen), excess, *self._compare_rates(scores, unseen)
        )

    def _compare_rates(self, scores, unseen):
        members, fprs = self._case.membership, self._case.fprs
        n_others = int((~members).sum())
        rate = choose_usual([rate for rate in fprs if check_resolution(n_others, rate, "ignore")])
        if rate is None:
            return (None,)
        seen, points = _find_rates(members, scores, rate), []
        for k, own in enumerate(unseen):
            kept = (self._folds == k) | ~members
            points.append(_find_rates(members[kept], own[kept], rate))
        tpr, fpr = map(np.mean, zip(*points, strict=True))
        return tuple(map(float, (rate, seen[0], tpr, seen[1], fpr)))


def _find_rates(members, scores, max_fpr):
    """Return TPR and FPR of an operating point, whose limits take longer."""
    fpr, tpr, _ = membership_roc_curve(members, scores)
    place = point_at_fpr(fpr, max_fpr)
    return tpr[place], fpr[place]


def _place(members, others):
    """Return the share of the others below each member, and of the members above each other.

    Ties are half.
    """
    by_others, by_members = np.sort(others), np.sort(members)
    below = np.searchsorted(by_others, members, "left") + np.searchsorted(
        by_others, members, "right"
    )
    above = np.searchsorted(by_members, others, "left") + np.searchsorted(
        by_members, others, "right"
    )
    return below / (2 * len(others)), 1 - above / (2 * len(members))


def _mean_variance(values, units):
    """Return the variance of a mean over independent units."""
    sums = np.bincount(np.unique(units, return_inverse=True)[1], values - values.mean())
    return float(np.square(sums).sum() / len(values) ** 2)


def compare_answers(case, run, seed):
    """Return what the strongest attack on the answers finds beyond a shift; None without one."""
    for name in rank_attacks(run.scores, case.membership, run.judged):
        is_whole = name in run.fitted and run.judged[name].all()
        if is_whole and not has_own_victim(case.attacks[name]):
            score = partial(_score_answers, name=name, pool=run.pool)
            return UnseenMembers(case, seed).compare(name, run.scores[name], score)
    return None


def compare_file(case, run, seed):
    """Return what the attack on the file finds beyond a shift."""
    return UnseenMembers(case, seed).compare("the file attack", run.file_scores, score_as_file)


def _score_answers(case, name, pool):
    """Return the scores of one attack on the model of a case, with the pool of the audit."""
    shadows = {} if pool is None else {"shadows": pool}
    request = case.request._replace(**shadows)
    case = replace(case, attacks={name: case.attacks[name]}, request=request)
    plan = make_plan(case.attacks, request, case.records)
    return np.asarray(run_attacks(case, plan, PartClock()).scores[name], dtype=float)
