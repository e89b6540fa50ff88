"""Log odds of membership from features: logistic regression and boosted trees on known rows."""

import numpy as np
from scipy.special import logit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

# Number of rows that the trees are fitted on.
_MOST_ROWS = 40_000

# Digits after the point of a feature that the trees see. Features that are equal except for
# rounding, which depends on what is scored together, must be on the same side of a split.
_DIGITS = 6

# Least slope of the calibrated log odds. Without a leak the estimate is 0 plus noise.
_LEAST_SLOPE = 0.01


class Scale:
    """The inverse hyperbolic sine of features in units of their median size."""

    def __init__(self, features):
        size = np.abs(features)
        unit, mean = np.median(size, axis=0), size.mean(axis=0)
        unit = np.where(unit > 0, unit, mean)
        self._unit = np.where(unit > 0, unit, 1.0)

    def __call__(self, features):
        return np.arcsinh(features / self._unit)


class Stack:
    """Logistic regression and, in addition, boosted trees.

    Log odds of 0 are those of equal shares of members and non-members. Weights for both sides would
    make the trees eight times as slow; the log odds of the shares are subtracted instead.

    Parameters
    ----------
    features : ndarray of shape (n, n_features)
        Scaled features.
    is_member : ndarray of shape (n,), dtype bool
        Membership.
    boosted : bool
        Whether to add the log odds of boosted trees.
    rng : RandomState
        Draws the rows for the trees.
    """

    def __init__(self, features, is_member, boosted, rng):
        self._linear = LogisticRegression(max_iter=1000).fit(features, is_member)
        self._trees, self._shift = None, logit(is_member.mean())
        if boosted:
            rows = slice(None)
            if len(features) > _MOST_ROWS:
                rows = np.sort(rng.choice(len(features), _MOST_ROWS, replace=False))
            self._shift += logit(is_member[rows].mean())
            self._trees = HistGradientBoostingClassifier(
                max_iter=60,
                max_leaf_nodes=15,
                min_samples_leaf=100,
                l2_regularization=1.0,
                early_stopping=False,
                random_state=rng.randint(np.iinfo(np.int32).max),
            ).fit(np.round(features[rows], _DIGITS), is_member[rows])

    def log_odds(self, features):
        """Return the log odds of the linear part, or the sum of both, of shape (n,)."""
        total = self._linear.decision_function(features) - self._shift
        if self._trees is not None:
            total += self._trees.decision_function(np.round(features, _DIGITS))
        return total


class CalibratedStack:
    """A stack on all rows, and one for each fold of the rows without it.

    The sum of two log odds is too large to be one. Slope and intercept come from a logistic
    regression of membership on the log odds of stacks that did not see the rows.

    Parameters
    ----------
    features : ndarray of shape (n, n_features)
        Features.
    is_member : ndarray of shape (n,), dtype bool
        Membership.
    folds : ndarray of shape (n,)
        Fold of each row, from 0.
    boosted : bool
        As for :class:`Stack`.
    rng : RandomState
        As for :class:`Stack`.
    """

    def __init__(self, features, is_member, folds, boosted, rng):
        self._scale = Scale(features)
        features, log_odds = self._scale(features), np.empty(len(features))
        self._without = {}
        for fold in np.unique(folds).tolist():
            here = folds == fold
            self._without[fold] = Stack(features[~here], is_member[~here], boosted, rng)
            log_odds[here] = self._without[fold].log_odds(features[here])
        self._whole = Stack(features, is_member, boosted, rng)
        outer = LogisticRegression(class_weight="balanced")
        outer.fit(log_odds[:, None], is_member)
        self._slope = max(float(outer.coef_[0, 0]), _LEAST_SLOPE)
        self._intercept = float(outer.intercept_[0])

    def log_odds(self, features, folds=None):
        """Return calibrated log odds.

        Parameters
        ----------
        features : ndarray of shape (n, n_features)
            Features.
        folds : ndarray of shape (n,), default=None
            Fold that the stack of each row must not have seen. For another number, and if None, the
            stack of all rows is used.

        Returns
        -------
        log_odds : ndarray of shape (n,)
        """
        features, total = self._scale(features), np.empty(len(features))
        folds = np.full(len(features), -1) if folds is None else folds
        for fold in np.unique(folds).tolist():
            here = folds == fold
            total[here] = self._without.get(fold, self._whole).log_odds(features[here])
        return self._slope * total + self._intercept
