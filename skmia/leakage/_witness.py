"""Ways to estimate a total variation, each with the region of features that attains it."""

from abc import ABC, abstractmethod
from numbers import Integral

import numpy as np
from joblib import Parallel
from scipy import fft, sparse, special
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.multiclass import check_classification_targets

from .._core.copies import copy_unfitted
from .._core.groups import sorted_values
from .._core.randomness import seed_estimator
from .._core.tasks import delayed
from .._core.threads import on_one_thread


def measure_robust_spread(values):
    """Standard deviation or interquartile range over 1.34 of each column, the smaller one.

    Where the interquartile range is 0 it is the standard deviation.

    Return spread (): 0 where a column has one value only.
    """
    if len(values) < 2:
        return np.zeros(values.shape[1:])
    deviation = values.std(axis=0, ddof=1)
    low, high = np.percentile(values, [25, 75], axis=0)
    quartiles = (high - low) / 1.34
    smaller = np.where(quartiles > 0, np.minimum(deviation, quartiles), deviation)
    # Of equal values the deviation is rounding of their mean.
    return np.where(np.ptp(values, axis=0) > 0, smaller, 0.0)


def split_classes(y):
    """Return the two values of y, and the code of each row: 1 for members, of the larger value."""
    classes, codes = sorted_values(y, "y", return_inverse=True)
    check_classification_targets(y)
    if (n := len(classes)) != 2:
        one = "Membership holds one class only"
        raise ValueError(
            f"{one if n == 1 else 'Only binary classification is supported'}: y must hold two "
            f"values, one for members and one for non-members; got {n} class{'es' * (n > 1)}."
        )
    return classes, codes


def check_side_spread(X, members):
    """Refuse features that have one value only for all members or for all non-members."""
    for side, name in ((members, "members"), (~members, "non-members")):
        constant = np.flatnonzero(measure_robust_spread(X[side]) == 0)
        if len(constant):
            raise ValueError(
                f"A kernel density needs values that differ, and feature {constant[0]} has one "
                f"value for all {side.sum()} {name}; leave the feature out, or use another "
                "method, such as 'plugin' for discrete features."
            )


def balanced_posterior(inside, outside):
    """Return the share of the members' density in the sum of both; one half where both are 0."""
    total = inside + outside
    return np.divide(inside, total, out=np.full(total.shape, 0.5), where=total > 0)


def log_ratio(inside, outside):
    """Return the logarithm of the ratio of two densities.

    Infinite where one is 0, and 0 where both are.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log(inside) - np.log(outside)
    return np.where(inside + outside > 0, ratios, 0.0)


def advantage_of_guesses(guesses, members):
    """Return the TPR - FPR of boolean guesses."""
    return guesses[members].mean() - guesses[~members].mean()


class DensityWitness(ABC):
    """A region of the features where members are denser than non-members.

    The total variation between the two laws is the largest difference of the probabilities that
    they give to a region, and the region where the members' density is the larger one attains it.
    An implementation learns that region as a posterior probability of membership under equal
    priors, and estimates the difference.
    """

    def check(self, X, members):  # noqa: B027 - most ways take any features
        """Refuse features that this method does not support."""

    @abstractmethod
    def learn(self, X, members, rng):
        """Learn the region from n rows of features and their membership, booleans."""

    @abstractmethod
    def posterior(self, X):
        """Return the probability of membership given equal priors; above 1/2 in the region."""

    def weigh(self, X, members, rng):
        """Points of the even mixture of both laws: their weights, and log ratios of densities.

        Every divergence of the kind of the total variation is a mean over these points. Only
        estimates of densities have them.
        """
        raise NotImplementedError

    @abstractmethod
    def estimate(self, X, labelings, rng):
        """Total variation under several labelings of the rows, the truth and its shuffles.

        Take X of shape (n, d), labelings of shape (n_labelings, n); return estimates of shape
        (n_labelings,): estimates in [-1, 1]; negative if the predictions of a rule are worse than
        random.
        """


def _fit_witness_model(estimator, X, members, seed):
    model = HistGradientBoostingClassifier() if estimator is None else copy_unfitted(estimator)
    seed_estimator(model, np.random.SeedSequence(seed))
    with on_one_thread(estimator is None):
        return model.fit(X, members.astype(int))


def _predict(estimator, model, X, share):
    """Return the posterior under equal priors of a model trained where `share` were members."""
    with on_one_thread(estimator is None):
        proba = model.predict_proba(X)
    return balanced_posterior(proba[:, 1] / share, proba[:, 0] / (1 - share))


def _cross_fit(estimator, splits, X, members, seed):
    """Return the posterior of each row by the model that was not trained on it."""
    posterior = np.full(len(X), np.nan)
    for train, held_out in splits:
        if members[train].all() or not members[train].any():
            raise ValueError(
                "A fold leaves only members, or only non-members, for training; use a stratified "
                "cv."
            )
        model = _fit_witness_model(estimator, X[train], members[train], seed)
        posterior[held_out] = _predict(estimator, model, X[held_out], members[train].mean())
    return posterior


class ClassifierWitness(DensityWitness):
    """Advantage of a classifier's cross-fitted predictions."""

    def __init__(self, estimator, cv, n_jobs):
        self.estimator = estimator
        self.cv = cv
        self.n_jobs = n_jobs

    def learn(self, X, members, rng):
        self._share = members.mean()
        self._model = _fit_witness_model(self.estimator, X, members, int(rng.integers(2**31)))
        return self

    def posterior(self, X):
        return _predict(self.estimator, self._model, X, self._share)

    def estimate(self, X, labelings, rng):
        seeds = rng.integers(2**31, size=(len(labelings), 2))
        posteriors = Parallel(n_jobs=self.n_jobs)(
            delayed(_cross_fit)(
                self.estimator, self._split(X, members, int(fold_seed)), X, members, int(seed)
            )
            for members, (fold_seed, seed) in zip(labelings, seeds, strict=True)
        )
        # A splitter such as ShuffleSplit need not test every row.
        tested = [~np.isnan(posterior) for posterior in posteriors]
        parts = zip(posteriors, labelings, tested, strict=True)
        return np.array(
            [advantage_of_guesses(one[rows] > 0.5, members[rows]) for one, members, rows in parts]
        )

    def _split(self, X, members, seed):
        cv = self.cv
        if isinstance(cv, Integral):
            cv = StratifiedKFold(cv, shuffle=True, random_state=seed)
        return list(cv.split(X, members))


class GroupedWitness:
    """The witness of an attacker who knows the group of each record."""

    def __init__(self, make):
        self._make = make

    @staticmethod
    def _list_parts(members, groups):
        """Return the rows of each group that has both members and non-members."""
        parts = {group: np.flatnonzero(groups == group) for group in np.unique(groups)}
        return {g: rows for g, rows in parts.items() if 0 < members[rows].sum() < len(rows)}

    def learn(self, X, members, groups, rng):
        """Learn the region of each group that has members and non-members."""
        self._witnesses = {
            group: self._make().learn(X[rows], members[rows], rng)
            for group, rows in self._list_parts(members, groups).items()
        }
        return self

    def posterior(self, X, groups):
        """Return the probability of membership of each row; one half where its group is unknown."""
        posterior = np.full(len(X), 0.5)
        for group, witness in self._witnesses.items():
            rows = np.flatnonzero(groups == group)
            if len(rows):
                posterior[rows] = witness.posterior(X[rows])
        return posterior

    def estimate(self, X, members, groups, n_permutations, rng):
        """Return estimates for the truth and for shuffles within the groups.

        Return estimates of shape (n_groups, 1 + n_permutations): in [0, 1]; NaN for groups without
        members or without non-members.
        """
        estimates = np.full((groups.max() + 1, 1 + n_permutations), np.nan)
        for group, rows in self._list_parts(members, groups).items():
            witness = self._make()
            witness.check(X[rows], members[rows])
            labelings = np.tile(members[rows], (1 + n_permutations, 1))
            rng.permuted(labelings[1:], axis=1, out=labelings[1:])
            estimates[group] = np.clip(witness.estimate(X[rows], labelings, rng), 0, 1)
        return estimates


_FEWEST_NODES = 2**11
# A narrower kernel than 1/16 of what so many nodes resolve is as good as a spike.
_MOST_NODES = 2**17
_NODES_PER_BANDWIDTH = 16
# What the transform leaves of a density of 0.
_ROUNDING = 1e-12


def _bandwidth(values, narrowest, factor):
    """Return Silverman's rule of thumb.

    The limit serves shuffles in which a class has equal values.
    """
    return max(factor * 0.9 * float(measure_robust_spread(values)) * len(values) ** -0.2, narrowest)


class _DensityGrid:
    """Nodes that carry a sample, each value shared by its two neighboring nodes."""

    def __init__(self, values, bandwidths):
        margin = 6 * bandwidths.max()
        low, high = values.min() - margin, values.max() + margin
        wanted = _NODES_PER_BANDWIDTH * (high - low) / bandwidths.min()
        n_nodes = 2 ** np.ceil(np.log2(np.clip(wanted, _FEWEST_NODES, _MOST_NODES)))
        self.nodes = np.linspace(low, high, int(n_nodes))
        self.step = self.nodes[1] - self.nodes[0]
        place = (values - low) / self.step
        self._left = np.minimum(place.astype(np.intp), len(self.nodes) - 2)
        self._right_weight = place - self._left
        # Nothing lies in the margins, so that the circle of the transform never closes.
        self._angles = 2 * np.pi * fft.rfftfreq(len(self.nodes), self.step)

    def densities(self, members, bandwidths):
        """Return the kernel densities of members and of non-members at every node."""
        sides = zip((members, ~members), bandwidths, strict=True)
        return [self._density(rows, bandwidth) for rows, bandwidth in sides]

    def _density(self, rows, bandwidth):
        left, right = self._left[rows], self._right_weight[rows]
        n_nodes = len(self.nodes)
        weights = np.bincount(left, 1 - right, n_nodes) + np.bincount(left + 1, right, n_nodes)
        smoother = np.exp(-0.5 * (self._angles * bandwidth) ** 2)
        smooth = fft.irfft(fft.rfft(weights) * smoother, n_nodes)
        return np.maximum(smooth, 0) / (len(left) * self.step)


class _KernelWitness(DensityWitness):
    def check(self, X, members):
        check_side_spread(X, members)


class GridKernelWitness(_KernelWitness):
    """Half the integral of the absolute difference of two Gaussian kernel densities.

    The densities come from one fast Fourier transform each, so that a shuffle of 100,000 labels
    takes milliseconds.
    """

    def __init__(self, factor):
        self.factor = factor

    def _prepare(self, values, labelings):
        narrowest = 1e-6 * max(np.ptp(values), np.finfo(float).tiny)
        bandwidths = np.array(
            [
                [_bandwidth(values[side], narrowest, self.factor) for side in (labels, ~labels)]
                for labels in labelings
            ]
        )
        return bandwidths, _DensityGrid(values, bandwidths)

    def learn(self, X, members, rng):
        (bandwidths,), grid = self._prepare(X[:, 0], members[None])
        inside, outside = grid.densities(members, bandwidths)
        self._nodes, self._posterior = grid.nodes, balanced_posterior(inside, outside)
        total = inside + outside
        self._posterior[total < _ROUNDING * total.max()] = 0.5
        return self

    def posterior(self, X):
        return np.interp(X[:, 0], self._nodes, self._posterior, left=0.5, right=0.5)

    def weigh(self, X, members, rng):
        (bandwidths,), grid = self._prepare(X[:, 0], members[None])
        inside, outside = grid.densities(members, bandwidths)
        return (inside + outside) * grid.step / 2, log_ratio(inside, outside)

    def estimate(self, X, labelings, rng):
        bandwidths, grid = self._prepare(X[:, 0], labelings)
        estimates = np.empty(len(labelings))
        for position, (labels, widths) in enumerate(zip(labelings, bandwidths, strict=True)):
            inside, outside = grid.densities(labels, widths)
            estimates[position] = np.abs(inside - outside).sum() * grid.step / 2
        return estimates


# Kernels evaluated at once, 32 MiB of them.
_CHUNK = 2**22


def _log_sum_exp(exponents):
    """Of each row, in place: the array is large, and scipy's function makes several of it."""
    largest = exponents.max(axis=1, keepdims=True)
    exponents -= largest
    return np.log(np.exp(exponents, out=exponents).sum(axis=1)) + largest[:, 0]


class _ProductKernels:
    """A density with one Gaussian with independent axes around each row."""

    def __init__(self, rows, narrowest, factor):
        n_rows, n_features = rows.shape
        factor *= (4 / ((n_features + 2) * n_rows)) ** (1 / (n_features + 4))
        self.bandwidths = np.maximum(factor * measure_robust_spread(rows), narrowest)
        self._center = rows.mean(axis=0)
        self._points = self._scale(rows)
        self._half_squares = (self._points**2).sum(axis=1) / 2
        self._log_height = -np.log(self.bandwidths * np.sqrt(2 * np.pi)).sum() - np.log(n_rows)

    def _scale(self, rows):
        return (rows - self._center) / self.bandwidths

    def log_density(self, rows):
        scaled = self._scale(rows)
        size = max(1, _CHUNK // len(self._points))
        parts = [
            _log_sum_exp(part @ self._points.T - self._half_squares)
            for part in np.split(scaled, range(size, len(scaled), size))
        ]
        return np.concatenate(parts) - (scaled**2).sum(axis=1) / 2 + self._log_height

    def draw(self, n_draws, rng):
        points = self._points[rng.integers(len(self._points), size=n_draws)]
        return (points + rng.normal(size=points.shape)) * self.bandwidths + self._center


class SampledKernelWitness(_KernelWitness):
    """The same integral, by draws from the even mixture of the two kernel densities."""

    def __init__(self, n_draws, factor=1.0):
        self.n_draws = n_draws
        self.factor = factor

    def learn(self, X, members, rng):
        # Of use to shuffles and halves in which a class has equal values.
        narrowest = 1e-6 * np.where(np.ptp(X, axis=0) > 0, np.ptp(X, axis=0), 1.0)
        self._inside = _ProductKernels(X[members], narrowest, self.factor)
        self._outside = _ProductKernels(X[~members], narrowest, self.factor)
        return self

    def _log_ratio(self, X):
        return self._inside.log_density(X) - self._outside.log_density(X)

    def posterior(self, X):
        return special.expit(self._log_ratio(X))

    def weigh(self, X, members, rng):
        self.learn(X, members, rng)
        draws = [side.draw(self.n_draws, rng) for side in (self._inside, self._outside)]
        weights = np.full(2 * self.n_draws, 0.5 / self.n_draws)
        return weights, self._log_ratio(np.concatenate(draws))

    def estimate(self, X, labelings, rng):
        # |f - g| / (f + g), which no underflow of f and g spoils.
        ratios = (self.weigh(X, labels, rng)[1] for labels in labelings)
        return np.array([np.tanh(np.abs(one) / 2).mean() for one in ratios])


# A sum of Gaussian kernels is integrated to many digits with two nodes in each bandwidth.
_EXACT_NODES_PER_BANDWIDTH, _FEWEST_EXACT_NODES = 4, 2**8


class ExactKernelWitness(SampledKernelWitness):
    """The same integral in one dimension, by nodes whose log ratio is exact far in the tails.

    A transform leaves rounding errors there, which a logarithm would amplify.
    """

    def __init__(self):
        super().__init__(n_draws=None)

    def weigh(self, X, members, rng):
        self.learn(X, members, rng)
        widths = [side.bandwidths[0] for side in (self._inside, self._outside)]
        low, high = X.min() - 6 * max(widths), X.max() + 6 * max(widths)
        wanted = _EXACT_NODES_PER_BANDWIDTH * (high - low) / min(widths)
        nodes = np.linspace(low, high, int(np.clip(wanted, _FEWEST_EXACT_NODES, _MOST_NODES)))
        logs = [side.log_density(nodes[:, None]) for side in (self._inside, self._outside)]
        weights = (np.exp(logs[0]) + np.exp(logs[1])) * (nodes[1] - nodes[0]) / 2
        return weights, logs[0] - logs[1]


# Trees are faster than comparing all pairs of rows up to here.
_MOST_FEATURES_OF_A_TREE = 6


class NeighborsWitness(DensityWitness):
    """Advantage of the majority vote of the nearest neighbors.

    Each row is classified by its neighbors without itself. The rule cannot be better than the best
    one, so its advantage errs downwards on average. It converges to the total variation as the
    number of rows grows.
    """

    def __init__(self, n_neighbors, n_jobs):
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs

    def _build(self, X, n_spare):
        # Of equal values the deviation is rounding of their mean.
        self._scale = np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 1.0)
        wanted = 2 * int(np.sqrt(len(X)) / 2) + 1 if self.n_neighbors is None else self.n_neighbors
        self._n_neighbors = min(wanted, len(X) - n_spare)
        tree = X.shape[1] <= _MOST_FEATURES_OF_A_TREE
        algorithm = "kd_tree" if tree else "brute"
        self._search = NearestNeighbors(algorithm=algorithm, n_jobs=self.n_jobs)
        self._search.fit(X / self._scale)

    def _find(self, X, n_neighbors):
        """Yield the positions of the nearest neighbors, some rows of X at a time."""
        size = max(1, _CHUNK // n_neighbors)
        for start in range(0, len(X), size):
            rows = X[start : start + size] / self._scale
            yield self._search.kneighbors(rows, n_neighbors, return_distance=False)

    def learn(self, X, members, rng):
        self._build(X, n_spare=0)
        self._members = members
        return self

    def posterior(self, X):
        inside = np.concatenate(
            [self._members[found].sum(axis=1) for found in self._find(X, self._n_neighbors)]
        )
        n_members = self._members.sum()
        outside = self._n_neighbors - inside
        return balanced_posterior(inside / n_members, outside / (len(self._members) - n_members))

    def _count_members(self, X, labelings):
        """Return members among the neighbors of each row, which is not its own neighbor."""
        columns = labelings.T.astype(np.float32)
        counts, start = np.empty(columns.shape, dtype=np.float32), 0
        for found in self._find(X, self._n_neighbors + 1):
            itself = found == np.arange(start, start + len(found))[:, None]
            # A row with many copies may not be among the nearest of its own place.
            itself[~itself.any(axis=1), -1] = True
            others = found[~itself]
            starts = np.arange(0, len(others) + 1, self._n_neighbors)
            ones = np.ones(len(others), dtype=np.float32)
            chosen = sparse.csr_array((ones, others, starts), shape=(len(found), len(X)))
            counts[start : start + len(found)] = chosen @ columns
            start += len(found)
        return counts.T

    def estimate(self, X, labelings, rng):
        # Equal rows are found in the order in which they come; members must not all come first.
        order = rng.permutation(len(X))
        X, labelings = X[order], labelings[:, order]
        self._build(X, n_spare=1)
        inside = self._count_members(X, labelings)
        n_members = labelings[0].sum()
        n_nonmembers = len(X) - n_members
        # Without itself a row finds one fewer of its own kind.
        guesses = inside * (n_nonmembers - ~labelings) > (self._n_neighbors - inside) * (
            n_members - labelings
        )
        return np.array(
            [advantage_of_guesses(*each) for each in zip(guesses, labelings, strict=True)]
        )


def number_distinct_rows(X):
    """Number the distinct rows of a matrix from 0, in lexicographic order.

    Shapes: X (n, d).
    """
    codes = np.zeros(len(X), dtype=np.int64)
    # Column by column: a sort of integers is ten times as fast as one of rows.
    for column in X.T:
        _, values = np.unique(column, return_inverse=True)
        _, codes = np.unique(codes * (values.max() + 1) + values, return_inverse=True)
    return codes


class PluginWitness(DensityWitness):
    """Half the sum of the absolute differences of two frequencies."""

    def learn(self, X, members, rng):
        codes = number_distinct_rows(X)
        self._cells = X[np.unique(codes, return_index=True)[1]]
        shares = [
            np.bincount(codes[side], minlength=len(self._cells)) / side.sum()
            for side in (members, ~members)
        ]
        self._posterior = balanced_posterior(*shares)
        return self

    def posterior(self, X):
        # Known cells and new rows are numbered together; rows of no known cell keep one half.
        n_cells = len(self._cells)
        codes = number_distinct_rows(np.concatenate([self._cells, X]))
        answers = np.full(codes.max() + 1, 0.5)
        answers[codes[:n_cells]] = self._posterior
        return answers[codes[n_cells:]]

    def weigh(self, X, members, rng):
        codes = number_distinct_rows(X)
        inside, outside = (
            np.bincount(codes[side], minlength=codes.max() + 1) / side.sum()
            for side in (members, ~members)
        )
        return (inside + outside) / 2, log_ratio(inside, outside)

    def estimate(self, X, labelings, rng):
        codes = number_distinct_rows(X)
        everyone = np.bincount(codes)
        n_members = labelings[0].sum()
        inside = np.array([np.bincount(codes[row], minlength=len(everyone)) for row in labelings])
        outside = everyone - inside
        gaps = inside / n_members - outside / (len(X) - n_members)
        return np.abs(gaps).sum(axis=1) / 2


# The standard error of an integral over so many draws from each density is at most 0.011.
_N_DRAWS = 1000


def choose_method(X, members, groups):
    """Return the name of the method that suits the features."""
    if number_distinct_rows(X).max() + 1 <= max(2, np.sqrt(len(X))):
        return "plugin"
    if X.shape[1] > 1:
        return "neighbors"
    # The sides of each group need a spread, where a group has both.
    parts = (groups == group for group in np.unique(groups))
    both = (part for part in parts if 0 < members[part].sum() < part.sum())
    sides = (X[part & side] for part in both for side in (members, ~members))
    return "kde" if all((measure_robust_spread(side) > 0).all() for side in sides) else "neighbors"


def make_witness(method, n_features, *, bandwidth_factor, estimator, n_neighbors, cv, n_jobs):
    if method == "plugin":
        return PluginWitness()
    if method == "kde":
        return make_kernels(n_features, _N_DRAWS, bandwidth_factor)
    if method == "neighbors":
        return NeighborsWitness(n_neighbors, n_jobs)
    return ClassifierWitness(estimator, cv, n_jobs)


def make_kernels(n_features, n_draws, factor=1.0):
    return GridKernelWitness(factor) if n_features == 1 else SampledKernelWitness(n_draws, factor)
