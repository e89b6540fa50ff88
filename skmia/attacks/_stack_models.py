"""Log odds of membership from features: logistic regression and boosted trees on known rows."""

import warnings
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.linalg import LinAlgWarning
from scipy.special import logit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from .._core.threads import on_one_thread
from ..base import compare_by_power, compute_auc_of_sorted, compute_tpr, sort_sides

# Number of rows that the trees are fitted on. Four times as many raise the AUC by less than .001
# and take a third of the time of the attack.
_MOST_ROWS = 10_000

# Least gain of AUC, on records of a fold, for which trees are fitted for all folds. The trees take
# a third of the time of the attack, and mostly gain less.
_LEAST_GAIN = 0.001

# Digits after the point of a feature that the trees see. Features that are equal except for
# rounding, which depends on what is scored together, must be on the same side of a split.
_DIGITS = 6

# Least slope of the calibrated log odds. Without a leak the estimate is 0 plus noise.
_LEAST_SLOPE = 0.01

# False positive rate at which the power is reported beside the AUC.
_RATE = 0.01

LINEAR, _TREES, JOINT = "logistic regression", "trees", "joint"

# Numbers of the most similar records over which the joint candidate reads means, and the standard
# errors by which it must be ahead of the best of the others. Where similar records say nothing, it
# is as strong as they are, and chance would choose.
NUMBERS = 4, 64
_MARGIN_OF_JOINT = 2.0


def _fit_quietly(model, features, is_member):
    """Fit a model by Newton's method; if a step fails, it goes on with L-BFGS by itself."""
    with warnings.catch_warnings():
        for category in (ConvergenceWarning, LinAlgWarning):
            warnings.simplefilter("ignore", category)
        return model.fit(features, is_member)


class MedianScale:
    """The inverse hyperbolic sine of features in units of their median size."""

    def __init__(self, features):
        size = np.abs(features)
        unit, mean = np.median(size, axis=0), size.mean(axis=0)
        unit = np.where(unit > 0, unit, mean)
        self._unit = np.where(unit > 0, unit, 1.0)

    def __call__(self, features):
        n_more = features.shape[1] - len(self._unit)  # means, which have a unit
        return np.arcsinh(features / np.append(self._unit, np.ones(n_more)))


class LogisticStack:
    """Logistic regression.

    Log odds of 0 stand for equal shares of members and non-members. Weights for both sides would
    make trees eight times as slow; the log odds of the shares are subtracted instead.

    features (n, n_features), is_member (n,); means over similar records may follow what is scored.
    """

    def __init__(self, features, is_member):
        # Newton's steps take a fifth of the time of L-BFGS for a dozen features.
        model = LogisticRegression(solver="newton-cholesky", max_iter=1000)
        self._model, self._shift = _fit_quietly(model, features, is_member), logit(is_member.mean())

    def log_odds(self, features):
        """Return log odds of shape (n,)."""
        return (
            self._model.decision_function(features[:, : self._model.n_features_in_]) - self._shift
        )


class BoostedStack:
    """Boosted trees; parameters and log odds as of :class:`LogisticStack`."""

    def __init__(self, features, is_member, rng):
        rows = slice(None)
        if len(features) > _MOST_ROWS:
            rows = np.sort(rng.choice(len(features), _MOST_ROWS, replace=False))
        self._shift = logit(is_member[rows].mean())
        model = HistGradientBoostingClassifier(
            max_iter=10,
            learning_rate=0.5,
            max_leaf_nodes=8,
            min_samples_leaf=100,
            l2_regularization=1.0,
            early_stopping=False,
            random_state=rng.randint(np.iinfo(np.int32).max),
        )
        with on_one_thread():
            self._model = model.fit(np.round(features[rows], _DIGITS), is_member[rows])

    def log_odds(self, features):
        """Return log odds of shape (n,)."""
        features = np.round(features[:, : self._model.n_features_in_], _DIGITS)
        with on_one_thread():
            return self._model.decision_function(features) - self._shift


class SingleFeature:
    """One feature as it is."""

    def __init__(self, features, is_member, column):
        self._column = column

    def log_odds(self, features):
        """Return the feature, of shape (n,)."""
        return features[:, self._column]


class StackRows(NamedTuple):
    """What is known of records with shadow models treated as the victim.

    Attributes
    ----------
    features : ndarray of shape (n, n_features)
        Features.
    is_member : ndarray of shape (n,), dtype bool
        Membership.
    models : ndarray of shape (n,)
        Model treated as the victim.
    folds : ndarray of shape (n,)
        Fold of the record, from 0.
    """

    features: np.ndarray
    is_member: np.ndarray
    models: np.ndarray
    folds: np.ndarray


class _CalibratedSum(NamedTuple):
    """Models whose sum of log odds becomes log odds by a slope and an intercept."""

    models: list
    slope: float
    intercept: float

    def log_odds(self, features):
        return self.slope * sum(model.log_odds(features) for model in self.models) + self.intercept


class NeighborhoodModel:
    """Logistic regression on the log odds of another one and on means over similar records.

    Shapes: features (n, n_features + n_means).
    """

    def __init__(self, regression, features, is_member):
        self._regression = regression
        self._outer = LogisticStack(self._read(features), is_member)

    def _read(self, features):
        return np.column_stack([self._regression.log_odds(features), features[:, -len(NUMBERS) :]])

    def log_odds(self, features):
        """Return log odds of shape (n,)."""
        return self._outer.log_odds(self._read(features))


class ChosenStack(NamedTuple):
    """Log odds of membership by the candidate that was chosen.

    Attributes
    ----------
    chosen : str
        Name of the candidate with the largest AUC that is far enough ahead.
    power : DataFrame
        Power of all candidates, as of :func:`skmia.model_selection.choose_by_power`.
    scale : MedianScale
        Scale of the features.
    whole : _CalibratedSum or LogisticStack
        Models learned from all rows.
    of_fold : dict of int to _CalibratedSum or LogisticStack
        Models learned without a fold of the records.
    joins : bool
        Whether any of them is that of means over similar records.
    """

    chosen: str
    power: pd.DataFrame | None
    scale: MedianScale
    whole: object
    of_fold: dict
    joins: bool = False

    def log_odds(self, features, folds=None):
        """Return log odds.

        Shapes: features (n, n_features), folds (n,).
        """
        features = self.scale(features)
        if folds is None:
            return self.whole.log_odds(features)
        total = np.empty(len(features))
        for fold in np.unique(folds).tolist():
            here = folds == fold
            total[here] = self.of_fold.get(fold, self.whole).log_odds(features[here])
        return total


class StackCandidates:
    """Single features, a logistic regression, and its sum with boosted trees, learned by folds.

    The rows of a record with several models treated as the victim depend on each other: each of
    these models is among those that the others are compared with. Only what was learned from other
    records can be compared with a single feature, so folds are of records. What is chosen for a
    fold does not depend on its rows either, or the power of the chosen one would be too good. The
    sum of two log odds is too large to be one. Slope and intercept come from a logistic regression
    of membership on the log odds of models that did not see the rows.
    """

    def __init__(self, rows, singles, boosted, rng):
        self._scale = MedianScale(rows.features)
        self._rows = rows._replace(features=self._scale(rows.features))
        self._kinds, self._parts = _list_stack_candidates(singles)
        folds = np.unique(rows.folds).tolist()
        self._fitted = {fold: self._fit(self._kinds, rows.folds != fold) for fold in folds}
        self._scores, self._pairs = {name: self._score_folds(name) for name in self._kinds}, {}
        if boosted:
            self._add_trees(partial(BoostedStack, rng=rng))

    def _add_trees(self, trees):
        """Add the sum with boosted trees as a candidate, unless a first fold says that it is idle.

        The records of this fold are one quarter of those by which candidates are compared.
        """
        self._kinds[_TREES] = trees
        for fold, models in self._fitted.items():
            models |= self._fit([_TREES], self._rows.folds != fold)
            if fold == min(self._fitted) and not self._gain_of_trees(fold) > _LEAST_GAIN:
                del self._kinds[_TREES], models[_TREES]
                return
        self._scores[_TREES] = self._score_folds(_TREES)
        self._parts[f"{LINEAR} + {_TREES}"] = LINEAR, _TREES

    def _gain_of_trees(self, fold):
        """Return the gain of AUC by the trees on a fold, the mean over models."""
        here = self._rows.folds == fold
        models, is_member = self._rows.models[here], self._rows.is_member[here]
        features, fitted = self._rows.features[here], self._fitted[fold]
        alone = fitted[LINEAR].log_odds(features)
        both = alone + fitted[_TREES].log_odds(features)
        cells = [[np.flatnonzero(models == k)] for k in np.unique(models)]
        before, after = (
            _measure_stack_power(one, is_member, cells)[:, 0, 0] for one in (alone, both)
        )
        gains = (after - before)[~np.isnan(before)]
        return gains.mean() if len(gains) else np.nan

    def _fit(self, names, chosen):
        features, is_member = self._rows.features[chosen], self._rows.is_member[chosen]
        return {name: self._kinds[name](features, is_member) for name in names}

    @cached_property
    def _regression(self):
        return self._fit([LINEAR], slice(None))[LINEAR]

    def _score_folds(self, name):
        """Return log odds of each row by the model that did not see its fold."""
        total = np.empty(len(self._rows.folds))
        for fold, models in self._fitted.items():
            here = self._rows.folds == fold
            total[here] = models[name].log_odds(self._rows.features[here])
        return total

    def get_regression(self):
        """Return the logistic regression on all rows as if it had been chosen."""
        return ChosenStack(LINEAR, None, self._scale, self._regression, {})

    def judge(self, features, folds):
        """Return posteriors, from -1 to 1, that each fold reads, and that all rows read (None).

        Return {fold or None: posteriors of shape (n,)}. They are learned without the fold that
        reads them, and without that of the row, whose copies would otherwise see their own
        membership.
        """
        scaled, found = self._scale(features), {}
        for reads in (*self._fitted, None):
            found[reads] = np.zeros(len(features))
            for judged in self._fitted:
                here = folds == judged
                model = self._get_without(judged if reads is None else reads, judged)
                found[reads][here] = np.tanh(model.log_odds(scaled[here]) / 2)
        return found

    def _get_without(self, fold, other):
        rest = (self._rows.folds != fold) & (self._rows.folds != other)
        if fold == other or len(np.unique(self._rows.is_member[rest])) < 2:
            return self._fitted[fold][LINEAR]
        pair = min(fold, other), max(fold, other)
        if pair not in self._pairs:
            self._pairs[pair] = self._fit([LINEAR], rest)[LINEAR]
        return self._pairs[pair]

    def join(self, means):
        """Add the candidate that also learns from means over similar records.

        means: {fold or None: (n_rows, n_means)}. All that is learned for a fold, the posteriors of
        which these are means included, is learned without it: if the weights of the means could
        follow its members, they would be too good on them.
        """
        self._means = means
        self._parts[JOINT] = (JOINT, _TREES) if _TREES in self._kinds else (JOINT,)
        for fold, models in self._fitted.items():
            models[JOINT] = self._fit_joint(models[LINEAR], fold)
        self._scores[JOINT] = np.empty(len(self._rows.folds))
        for fold, models in self._fitted.items():
            here = self._rows.folds == fold
            self._scores[JOINT][here] = models[JOINT].log_odds(self._with_means(fold)[here])

    def _with_means(self, fold):
        return np.column_stack([self._rows.features, np.arcsinh(self._means[fold])])

    def _fit_joint(self, regression, fold):
        chosen = slice(None) if fold is None else self._rows.folds != fold
        return NeighborhoodModel(
            regression, self._with_means(fold)[chosen], self._rows.is_member[chosen]
        )

    def choose(self, units, margin):
        """Return the strongest candidate."""
        rows, folds = self._rows, list(self._fitted)
        log_odds = {
            name: sum(self._scores[part] for part in parts) for name, parts in self._parts.items()
        }
        models = np.unique(rows.models)
        in_fold, units = [rows.folds == fold for fold in folds], units[models]
        cells = [[np.flatnonzero(here & (rows.models == k)) for here in in_fold] for k in models]
        figures = np.array(
            [_measure_stack_power(one, rows.is_member, cells) for one in log_odds.values()]
        )

        of_fold, names = {}, set()
        for k, fold in enumerate(folds):
            rest = _average_folds(np.delete(figures, k, axis=2))
            name = _choose_candidate(list(log_odds), rest, units, margin)
            names.add(name)
            models = [self._fitted[fold][part] for part in self._parts[name]]
            of_fold[fold] = _calibrate(models, log_odds[name], rows, rows.folds != fold)
        means = _average_folds(figures)
        chosen = _choose_candidate(list(log_odds), means, units, margin)
        power = compare_by_power([{"score": name} for name in log_odds], means, units, _RATE).power
        models = self._fit([part for part in self._parts[chosen] if part != JOINT], slice(None))
        if chosen == JOINT:
            models[JOINT] = self._fit_joint(self._regression, None)
        models = list(models.values())
        whole = _calibrate(models, log_odds[chosen], rows, slice(None))
        return ChosenStack(chosen, power, self._scale, whole, of_fold, JOINT in {chosen, *names})


def _list_stack_candidates(singles):
    """Return functions that fit models, and which of these each candidate sums, by name."""
    kinds = {name: partial(SingleFeature, column=column) for name, column in singles.items()}
    candidates = {name: (name,) for name in singles}
    kinds[LINEAR], candidates[LINEAR] = LogisticStack, (LINEAR,)
    return kinds, candidates


def _measure_stack_power(log_odds, is_member, cells):
    """Return AUC and TPR of each model in each fold, of shape (n_models, n_folds, 2)."""
    figures = np.full((len(cells), len(cells[0]), 2), np.nan)
    for k, j in np.ndindex(figures.shape[:2]):
        members, others = sort_sides(log_odds[cells[k][j]], is_member[cells[k][j]], True)
        if len(members) and len(others):
            figures[k, j] = (
                compute_auc_of_sorted(members, others),
                compute_tpr(members, others, _RATE),
            )
    return figures


def _average_folds(figures):
    """Return the mean figures over the folds that have both sides; NaN without any."""
    n_usable = (~np.isnan(figures)).sum(axis=2)
    return np.nansum(figures, axis=2) / np.where(n_usable > 0, n_usable, np.nan)


def _choose_candidate(names, figures, units, margin):
    """Return the name of the candidate of the largest mean AUC on the models that tell it.

    Shapes: figures (n_candidates, n_models, 2), units (n_models,).
    """
    known = ~np.isnan(figures).any(axis=(0, 2))
    return _choose_strongest(names, figures[:, known, 0], units[known], margin)


def _choose_strongest(names, aucs, units, margin):
    """Return the name of the candidate of the largest mean of AUCs, of shape (n_candidates, n)."""
    means, n_single = aucs.mean(axis=1), names.index(LINEAR)
    best = int(np.argmax(means[:n_single]))
    ahead = [
        k
        for k in range(n_single, len(names))
        if names[k] != JOINT and _is_ahead(aucs[k] - aucs[best], units, margin)
    ]
    best = max(ahead, key=means.__getitem__, default=best)
    if names[-1] == JOINT and _is_ahead(aucs[-1] - aucs[best], units, _MARGIN_OF_JOINT):
        return JOINT
    return names[best]


def _is_ahead(gains, units, margin):
    """Whether the mean of gains is above 0 by a number of standard errors over pairs of models."""
    gains = np.array([gains[units == unit].mean() for unit in np.unique(units)])
    error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.inf
    return gains.mean() > (margin * error if margin else 0)


def _calibrate(models, log_odds, rows, chosen):
    """Return models with the slope and intercept of their log odds on the chosen rows."""
    outer = LogisticRegression(class_weight="balanced", solver="newton-cholesky")
    _fit_quietly(outer, log_odds[chosen, None], rows.is_member[chosen])
    slope = max(float(outer.coef_[0, 0]), _LEAST_SLOPE)
    return _CalibratedSum(models, slope, float(outer.intercept_[0]))
