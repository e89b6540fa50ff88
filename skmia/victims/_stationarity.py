"""Equations of the gradients at the optimum of a linear model, and rows on the edge of a loss."""

import copy

import numpy as np
from scipy import linalg, sparse
from sklearn.linear_model import QuantileRegressor
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from .._core.budget import Cost, count_table_bytes
from .._core.coefficients import GradientRows
from .._core.query import check_victim
from ._model_features import check_labels, find_model, open_model, read_features
from ._node_equations.equations import DOUBLE, Equations
from ._optima import OPTIMA, Total, as_signs, why_stopped
from ._resampling import why_not_resampled


def is_machine(model):
    """Return whether a model has a loss with an edge, also at the end of a Pipeline or chosen."""
    found = find_model(model)[0]
    return type(found) in (SVC, SVR) or has_edge(found)


# Losses with an edge, by the names of scikit-learn.
_EDGED = "hinge", "epsilon_insensitive"

# Largest tolerance of a solver by which records at the edge are told from others, and the one of
# linear programs, in units of the largest target.
_MOST_TOLERANCE = 0.01
_OF_LINEAR_PROGRAMS = 1e-7
_OF_SUMS = 3


def has_edge(model):
    """Return whether a linear model has a loss with an edge, on which only training rows lie."""
    if type(model) in (LinearSVC, LinearSVR):
        return model.loss in _EDGED
    return type(model) is QuantileRegressor


def _find_distances(model, X, y):
    """Return the smallest distance of each record from the edge of the loss, and the tolerance."""
    outputs = X @ np.atleast_2d(model.coef_).T + np.reshape(model.intercept_, (1, -1))
    if isinstance(model, LinearSVC):
        return np.abs(1 - as_signs(model, y) * outputs).min(axis=1), model.tol
    away = np.abs(y - outputs[:, 0])
    if isinstance(model, LinearSVR):
        # Its solver stops by the sum of all violations, in units of that at coefficients of 0.
        return np.abs(away - model.epsilon), _OF_SUMS * model.tol * np.mean(np.abs(y))
    return away, _OF_LINEAR_PROGRAMS * np.max(np.abs(y), initial=0.0)


def decide_by_margins(model, records, slack=0.0):
    """Return who must have been in the training data of a support vector machine, and who cannot.

    At the optimum, each training row with a margin below 1, or a residual beyond epsilon, is a
    support vector, and support vectors are stored. Who has such a margin and is not stored was not
    in the training data.

    A linear model stores no rows. Where its loss has an edge, about as many training rows as it has
    coefficients lie exactly on the edge, and others only by chance.

    slack: error of the outputs of a linear model, beside the tolerance of its solver.

    Return decided of shape (n,): 1 for who is stored, -1 for who cannot have been a training row, 0
    for the others.
    """
    found, steps = find_model(model)
    check_victim(model)
    why = _why_not_machine(found) or why_not_resampled(model)
    if why is not None:
        raise ValueError(f"The optimum of this {type(found).__name__} is not read: {why}.")
    X = read_features(found, steps, records.X, role="The model has")
    y = check_labels(found, records.y)
    if has_edge(found):
        distances, tolerance = _find_distances(found, X, y)
        return (distances <= tolerance + slack).astype(int)
    if isinstance(found, SVC):
        near = _smallest_margin(found, X, y) < 1 - found.tol
        owners = np.repeat(np.arange(len(found.classes_)), found.n_support_)
        stored = _are_stored_rows(
            np.column_stack([X, y]), np.column_stack([_list_support_rows(found), owners])
        )
    else:
        near = np.abs(y - found.predict(X)) > found.epsilon + found.tol
        stored = _are_stored_rows(X, _list_support_rows(found))
    return np.where(stored, 1, np.where(near, -1, 0))


def _why_not_machine(model):
    if has_edge(model):
        if getattr(model, "tol", 0) > _MOST_TOLERANCE:
            return f"tol={model.tol:g} leaves open who is on the edge of its loss"
        if getattr(model, "multi_class", "ovr") != "ovr":
            return f"multi_class={model.multi_class!r} has another loss"
        return None if isinstance(model, QuantileRegressor) else why_stopped(model)
    if model.kernel == "precomputed":
        return "with a precomputed kernel it stores no rows"
    if callable(model.kernel):
        return "with a kernel of one's own it stores all rows, which StoredValuesAttack finds"
    if model.fit_status_ or np.any(model.n_iter_ == model.max_iter):
        return f"its solver stopped after max_iter={model.max_iter} steps, before the optimum"
    return None


def _smallest_margin(model, X, y):
    """Return smallest margin of each row in the problems of two classes that its class is in."""
    n_classes = len(model.classes_)
    if n_classes == 2:
        return model.decision_function(X) * np.where(y == 1, 1, -1)
    pairs = copy.copy(model).set_params(decision_function_shape="ovo").decision_function(X)
    first, second = np.triu_indices(n_classes, 1)
    signs = (y[:, None] == first).astype(float) - (y[:, None] == second)
    return np.where(signs != 0, pairs * signs, np.inf).min(axis=1)


def _list_support_rows(model):
    rows = model.support_vectors_
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


def _are_stored_rows(rows, stored):
    """Return whether each row is one of those stored; 0 and -0 are the same."""
    both = np.concatenate([stored, rows]) + 0.0
    _, place = np.unique(both, axis=0, return_inverse=True)
    return np.isin(place.ravel()[len(stored) :], place.ravel()[: len(stored)])


def has_stationarity(model):
    found = find_model(model)[0]
    return type(found) in OPTIMA or is_machine(found)


_KINDS = ", ".join(one.__name__ for one in (*OPTIMA, QuantileRegressor))
_WANTED = f"The optimum is read of {_KINDS}, SVC and SVR"

# Rows whose features tell how large those of all are.
_N_SAMPLED = 50


def estimate_gradients(model, records):
    """Return what gradients of candidates hold: features, twice, and slopes of each output."""
    (found, steps), n = find_model(model), len(records)
    some = read_features(
        found, steps, records[:_N_SAMPLED].X, role="The model has", keeps_sparse=True
    )
    n_outputs = np.size(getattr(found, "intercept_", 0.0))
    outputs = "1 output" if n_outputs == 1 else f"{n_outputs:,} outputs"
    what = f"{n:,} records, {some.shape[1]:,} columns and {outputs}"
    return Cost(2 * count_table_bytes(some) * n / some.shape[0] + 32 * n * n_outputs, what=what)


def read_gradients(model, records, n_rows, variance, expects_hessian=True):
    """Return the equations of the gradients at the optimum.

    Over members, with the penalty, they add to 0.

    The number of training rows is not stored. It is assumed, with this variance, and a further
    equation says so: without it, no member at all would explain models without a penalty.

    expects_hessian: whether to compute the pulls of the determinant, which takes most of the time.
    """
    rows, optimum = _read_pulls(model, records, n_rows)
    totals = [*optimum.totals, Total(np.ones(len(records)), n_rows, variance)]
    squares = rows.square_rows()
    kept = np.flatnonzero(squares > 0)  # an empty column has no equation
    rows, squares = rows.keep(kept), squares[kept]
    blank = np.zeros((len(totals), optimum.pulls.shape[1] - 1))
    ends = np.column_stack([blank, [one.total for one in totals]])
    noise = np.column_stack([blank, [one.variance for one in totals]])
    variances = np.concatenate([optimum.variances, noise]).ravel()[kept] + DOUBLE**2 * squares
    targets = np.concatenate([-optimum.pulls, ends]).ravel()[kept]
    blur = sparse.csr_array((len(kept), len(records)))  # nothing was rounded
    hessian = None
    if expects_hessian:
        hessian = expect_hessian(rows.X, optimum, n_rows / len(records))
    pulls = 0.0 if hessian is None else hessian.find_pulls()
    return Equations(
        rows, targets, variances, float(n_rows), [kept], blur, True, pulls=pulls, hessian=hessian,
        n_totals=len(totals),
    )  # fmt: skip


def read_further_gradients(model, records, equations):
    """Return what further records would have in the equations of the candidates, and their pulls.

    A matrix of shape (n_equations, n), and log likelihood ratios by the determinant, of shape (n,).
    """
    rows, optimum = _read_pulls(model, records, equations.n_rows)
    hessian = equations.hessian
    pulls = 0.0 if hessian is None else hessian.judge(rows.X, optimum.bends)
    return rows.keep(equations.places[0]), pulls


# With fewer coefficients per training row, or larger tables, the determinant says too little.
_LEAST_LEVERAGE, _MOST_NUMBERS = 0.05, 4000**2

# Largest leverage of a row, for which the logarithm of the determinant is linear in the bits.
_MOST_LEVERAGE = 0.95

_N_ROUNDS = 10
_SAME_LEVERAGE = 1e-3
_RIDGE = 1e-10


class ExpectedHessian:
    """Second derivatives of the loss of random training rows, as they multiply densities.

    The gradients of many sets of rows vanish near the coefficients of a model. A set is as likely
    as the density that it gives its coefficients, which is the determinant of the second derivative
    of its loss. One more row multiplies it by 1 plus its bend times its squared length in the
    metric of the inverse.

    X (n, n_features), share: training rows per candidate.
    """

    def __init__(self, X, optimum, share):
        self._design, self._bends, self._share = _add_ones(X), optimum.bends, share
        self._of_outputs = list(zip(optimum.holds, optimum.stiffness, strict=True))
        # The outputs of a softmax have one too many.
        n_outputs = optimum.bends.shape[1]
        is_shared = n_outputs > 1 and np.allclose(optimum.slopes.sum(axis=1), 0)
        self._free, self._lengths = 1 - is_shared / n_outputs, np.zeros(optimum.bends.shape)

    def find_pulls(self, bits=None):
        """Return the log of the factor of each candidate, given probabilities of membership.

        Without any, all have the same.
        """
        given = np.full(len(self._design), min(self._share, 1.0))
        if bits is not None:  # training rows that are no candidates are taken to be like all
            given = np.clip(bits + self._share - bits.mean(), 0, 1)
        self._inverses = []
        for k, (holds, stiffness) in enumerate(self._of_outputs):
            inverse, self._lengths[:, k] = _expect_inverse(
                self._design, self._bends[:, k], holds, stiffness, given, self._lengths[:, k]
            )
            self._inverses.append(inverse)
        return self._free * _add_logs(self._bends, self._lengths)

    def drop_candidates(self):
        """Forget the candidates, which further records do not need."""
        self._design = self._bends = self._lengths = None

    def judge(self, X, bends):
        """Return the log of the factor of each of some further records."""
        design = _add_ones(X)
        lengths = [_measure_lengths(design, inverse) for inverse in self._inverses]
        return self._free * _add_logs(bends, np.column_stack(lengths))


def expect_hessian(X, optimum, share):
    """Return the expected second derivatives, or None if they hardly tell candidates apart."""
    size = optimum.holds.sum(axis=1).max()
    if size < _LEAST_LEVERAGE * share * X.shape[0] or X.shape[0] * size > _MOST_NUMBERS:
        return None
    return ExpectedHessian(X, optimum, share)


def _expect_inverse(design, bends, holds, stiffness, bits, lengths):
    """Return the expected inverse, and the length of each candidate if it were not among the rows.

    The expectation of an inverse is larger than the inverse of the expectation. Of a candidate with
    bend c that is a row with probability p, and has the squared length s by the others, the weight
    p c / (1 + (1 - p) c s) moves the inverse as much as the candidate does on average.
    """
    part, stiff = design[:, holds], stiffness[holds]
    for _ in range(_N_ROUNDS):
        weights = bits * bends / (1 + (1 - bits) * bends * lengths)
        scaled = part * np.sqrt(weights)[:, None]
        root = _factor_raised(scaled.T @ scaled + np.diag(stiff))  # half of the product is computed
        away = linalg.solve_triangular(root, part.T, lower=True, check_finite=False)
        own, last = np.einsum("jn,jn->n", away, away), lengths
        lengths = own / np.maximum(1 - weights * own, 1 - _MOST_LEVERAGE)
        if np.max(bends * np.abs(lengths - last), initial=0.0) < _SAME_LEVERAGE:
            break
    whole = np.zeros((design.shape[1], design.shape[1]))
    whole[np.ix_(holds, holds)] = linalg.cho_solve((root, True), np.eye(len(root)))
    return whole, lengths


def _factor_raised(hessian):
    """Return the Cholesky factor, with as small a diagonal added as lets it exist."""
    size = max(float(np.trace(hessian)) / max(len(hessian), 1), np.finfo(float).tiny)
    for raised in _RIDGE * size * 100.0 ** np.arange(5):
        try:
            return linalg.cholesky(hessian + raised * np.eye(len(hessian)), lower=True)
        except linalg.LinAlgError:  # of features that depend on each other, rounded
            continue
    raise ValueError("the second derivatives of its loss are not positive")


def _add_ones(X):
    X = X.toarray() if sparse.issparse(X) else X
    return np.column_stack([X, np.ones(len(X))])


def _measure_lengths(design, inverse):
    return np.einsum("nj,nj->n", design @ inverse, design)


def _add_logs(bends, lengths):
    most = _MOST_LEVERAGE / (1 - _MOST_LEVERAGE)
    return np.log1p(np.minimum(bends * lengths, most)).sum(axis=1)


def _read_pulls(model, records, n_rows):
    """Return all gradients of the records, and the optimum with the pulls of all coefficients.

    The terms of totals are the slopes of further outputs, without features.
    """
    found, steps, reader = open_model(
        model, lambda found: OPTIMA.get(type(found)), _WANTED, "The optimum of this {} is not read"
    )
    X = read_features(found, steps, records.X, role="The model has", keeps_sparse=True)
    optimum = reader.read(found, X, check_labels(found, records.y), n_rows)
    terms = [one.terms for one in optimum.totals]
    slopes = np.column_stack([optimum.slopes, *terms, np.ones(len(records))])
    n_totals, width = len(terms) + 1, optimum.pulls.shape[1]
    holds = np.concatenate([optimum.holds, np.arange(width) == np.full((n_totals, 1), width - 1)])
    return GradientRows(X, slopes, weights=holds.astype(np.float64)), optimum
