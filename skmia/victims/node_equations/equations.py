"""Linear equations in the membership bits of candidates."""

import warnings
from typing import NamedTuple

import numpy as np
from scipy import sparse

DOUBLE, SINGLE = np.finfo(np.float64).eps, np.finfo(np.float32).eps

# Smallest ratio between the norm of an equation and its rounding error.
_LEAST = 1000


class Equations(NamedTuple):
    """Equations ``rows @ bits = targets``, up to noise of known variance.

    Attributes
    ----------
    rows : csr_array of shape (n_equations, n_candidates)
        Coefficients.
    targets : ndarray of shape (n_equations,)
        Right-hand sides.
    variances : ndarray of shape (n_equations,)
        Variance of each right-hand side around its mean; for an exact equation, of its rounding.
    n_rows : float
        Number of training rows according to the file; 0 if a stripped file does not store it and
        none was assumed.
    places : list of ndarray
        For each set of nodes, the number of the equation of each node; -1 for none.
    blur : csr_array of shape (n_equations, n_candidates)
        For equations with a variance that depends on the bits because values were rounded: the
        variance times the relative change of its root with each bit.
    is_assumed : bool
        Whether the number of rows was assumed, in a further equation, which is the last one.
    """

    rows: sparse.csr_array
    targets: np.ndarray
    variances: np.ndarray
    n_rows: float
    places: list
    blur: sparse.csr_array
    is_assumed: bool = False


class Collector:
    """Collects the equations of sets of nodes, most often the leaves of a tree.

    Parameters
    ----------
    n_candidates : int
        Number of candidate records.
    share : float, default=0.5
        Number of training rows over the number of candidates, which is expected at each node.
    """

    def __init__(self, n_candidates, share=0.5):
        self.n_candidates, self.share, self._n_equations = n_candidates, share, 0
        self._rows, self._targets, self._variances, self._places = [], [], [], []
        self._blur, self._kept, self._times = [], 1.0, 1

    def add(
        self,
        nodes,
        coefficients,
        targets,
        variances=0.0,
        *,
        terms=None,
        precision=DOUBLE,
        rounded=None,
        unlike=0.0,
    ):
        """Add an equation for each node that contains candidates.

        Parameters
        ----------
        nodes : ndarray of shape (n_candidates,), dtype int
            Node of each candidate.
        coefficients : ndarray of shape (n_candidates,)
            Coefficient of each candidate in the equation of its node; candidates with 0 are left
            out.
        targets, variances : ndarray of shape (n_nodes,)
            Right-hand side of the equation of each node, NaN for none, and its variance.
        terms : ndarray of shape (n_candidates,), default=None
            Size of the terms whose difference is the coefficient. An equation that consists of
            rounding errors is dropped. If None, the absolute coefficients are used.
        precision : float, default=2.2e-16
            Relative rounding error of the terms.
        rounded : Rounded, default=None
            Rounding of the values in the equations before the release.
        unlike : float, default=0.0
            Variance of the unknown weights that multiply the coefficients of the training rows,
            whose mean is 1.
        """
        n_nodes = len(targets)
        terms = np.abs(coefficients) if terms is None else terms
        size = np.sqrt(np.bincount(nodes, coefficients**2, minlength=n_nodes))
        rounding = precision * np.sqrt(np.bincount(nodes, terms**2, minlength=n_nodes))
        kept = np.flatnonzero((size > _LEAST * rounding) & np.isfinite(targets))
        place = np.full(n_nodes, -1)
        place[kept] = self._n_equations + np.arange(len(kept))
        self._n_equations += len(kept)
        self._places.append(place)
        self._rows.append(_entries(place, nodes, coefficients))
        self._targets.append(np.asarray(targets, dtype=np.float64)[kept] / self._kept)
        drawn = self._times * (1 - self._kept) / self._kept
        noise = (1 + unlike) * (1 + drawn) - 1
        variances = variances + rounding**2 + noise * self.share * size**2
        if rounded is not None and rounded.step.any():
            variances = variances + self._add_blur(place, nodes, rounded)
        self._variances.append(variances[kept])

    def draw(self, kept, times=1):
        """Take all further equations for those of samples, whose rows are not known.

        Parameters
        ----------
        kept : float
            Share of the training rows in each sample.
        times : int, default=1
            Number of sets of nodes with the same sample.
        """
        self._kept, self._times = kept, times

    def _add_blur(self, place, nodes, rounded):
        """Return the variance of each equation by rounding, and note its change with the bits."""
        n_nodes, terms, drift = len(place), rounded.terms, rounded.drift
        own = self.share * np.bincount(nodes, terms, minlength=n_nodes) + rounded.constant
        drifted = self.share * np.bincount(nodes, np.broadcast_to(drift, len(nodes)), n_nodes)
        scale = rounded.step**2 / 12
        change = (scale * own)[nodes] * terms + drifted[nodes] * drift
        self._blur.append(_entries(place, nodes, change))
        return scale * own**2 + drifted**2

    def warn(self, message):
        """Warn of what the model shows of its equations."""
        warnings.warn(message, UserWarning, stacklevel=10)

    def equations(self, n_rows):
        """Return all collected equations, given the number of training rows."""
        return Equations(
            _matrix(self._rows, (self._n_equations, self.n_candidates)),
            np.concatenate(self._targets),
            np.concatenate(self._variances),
            float(n_rows),
            self._places,
            _matrix(self._blur, (self._n_equations, self.n_candidates)),
        )


class Further:
    """Collects the coefficients of further records in the equations of the candidates.

    It has the methods of a :class:`Collector` and is called with the same nodes in the same order.

    Parameters
    ----------
    equations : Equations
        Equations of the candidates.
    n_records : int
        Number of further records.
    """

    share = 0.5

    def __init__(self, equations, n_records):
        self._shape = len(equations.targets), n_records
        self._places, self._rows = iter(equations.places), []

    def add(self, nodes, coefficients, targets, *others, **options):
        """Add the coefficients of the records to the equations of their nodes."""
        self._rows.append(_entries(next(self._places), nodes, coefficients))

    def draw(self, kept, times=1):
        """Do nothing, as samples change no coefficients."""

    def warn(self, message):
        """Do nothing, as fit has warned."""

    def columns(self):
        """Return the coefficients as a csr_array of shape (n_equations, n_records)."""
        return _matrix(self._rows, self._shape)


def _entries(place, nodes, coefficients):
    """Return equation, record and coefficient of each record that is in an equation."""
    equation = place[nodes]
    used = np.flatnonzero((coefficients != 0) & (equation >= 0))
    return equation[used], used, coefficients[used]


def _matrix(entries, shape):
    if not entries:
        return sparse.csr_array(shape)
    rows, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
    return sparse.csr_array((values.astype(np.float64), (rows, columns)), shape=shape)


def count_candidates(nodes, n_nodes):
    """Count the candidates in each node."""
    return np.bincount(nodes, minlength=n_nodes)
