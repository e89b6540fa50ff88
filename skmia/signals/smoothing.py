"""Smoothing: infinite values of a signal are made finite by the resolution of the models."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from .._core.filed import rows_of
from .._core.middle import compute_middle

# Share of the typical residual below which differences carry no information.
_SHARE = 0.1
SMALLEST_RESIDUAL = 1e-12


# Pools are processed row by row, because any array of their size takes as much memory as the pool.
def _largest_finite(raw):
    return max(float(np.abs(row[np.isfinite(row)]).max(initial=0.0)) for row in rows_of(raw))


@dataclass(frozen=True)
class Smoothing(ABC):
    """Rule that is learned from the values of some models and applied to the values of any model.

    Parameters
    ----------
    resolution : float
        Finest step of the models' outputs, with which all values are smoothed. If 0, finite values
        are not changed.
    step : float
        Step with which infinite values are smoothed if the resolution is 0: a victim may return an
        infinite value although none of the models did.
    """

    resolution: float = 0.0
    step: float = 0.0

    # Margins are in the unit of decision values, whose finest step a user cannot know.
    _takes_resolution = True

    @classmethod
    def fit(cls, raw, inside, dtype, resolution="auto"):
        """Learn the resolution and the step.

        Parameters
        ----------
        raw : ndarray of shape (n_queries, n_models, n)
            Values of a signal, which may be infinite.
        inside : ndarray of shape (n_models, n), dtype bool
            Which models were trained on which records.
        dtype : dtype
            Data type of the models' outputs.
        resolution : "auto" or float, default="auto"
            Resolution, if it is known.

        Returns
        -------
        smoothing : Smoothing
        """
        step = float(cls._compute_step(raw, dtype))
        if resolution == "auto" or not cls._takes_resolution:
            resolution = cls._compute_resolution(raw, inside, step)
        return cls(float(resolution), step)

    @classmethod
    def _compute_resolution(cls, raw, inside, step):
        return 0.0 if all(np.isfinite(row).all() for row in rows_of(raw)) else step

    @classmethod
    @abstractmethod
    def _compute_step(cls, raw, dtype):
        """Return the step with which an infinite value is smoothed next to these values."""

    @abstractmethod
    def _move(self, raw, step):
        """Move values by a positive step."""

    def __call__(self, raw):
        """Return finite values of any model; with resolution 0, finite values are not changed."""
        if self.resolution:
            return self._move(raw, self.resolution)
        infinite = np.isinf(raw)
        return np.where(infinite, self._move(raw, self.step), raw) if infinite.any() else raw

    def of_models(self, raw):
        """Smooth the models that it was learned from; with resolution 0, infinite values stay."""
        return self._move(raw, self.resolution) if self.resolution else raw


class Unsmoothed(Smoothing):
    """No smoothing, for signals whose values are always finite."""

    _takes_resolution = False

    @classmethod
    def _compute_step(cls, raw, dtype):
        return 0.0

    @classmethod
    def _compute_resolution(cls, raw, inside, step):
        return 0.0

    def _move(self, raw, step):
        return raw


class LogitSmoothing(Smoothing):
    """Smoothing of log odds: probabilities of exactly 0 or 1 move inside by half of the step."""

    @classmethod
    def _compute_step(cls, raw, dtype):
        # 1 / (1 + exp(|z|)) is the smaller of p_y and 1 - p_y. Below the spacing of floats next to
        # 1 one side can still be distinguished from its bound and the other cannot.
        largest = _largest_finite(raw)
        spacing = np.finfo(dtype).eps if np.issubdtype(dtype, np.floating) else np.finfo(float).eps
        return max(np.exp(-np.logaddexp(0, largest)), spacing)

    def _move(self, raw, step):
        half = raw.dtype.type(step / 2)
        with np.errstate(over="ignore"):
            p, q = 1 / (1 + np.exp(-raw)), 1 / (1 + np.exp(raw))
        return np.log(p + half) - np.log(q + half)


class Clipping(Smoothing):
    """Clipping of values at plus and minus the largest finite value."""

    _takes_resolution = False

    @classmethod
    def _compute_step(cls, raw, dtype):
        # Values are infinite only for classes without training records; such a model counts as
        # being as confident as any other model.
        return _largest_finite(raw)

    def _move(self, raw, step):
        return np.clip(raw, -step, step)


class ResidualSmoothing(Smoothing):
    """Smoothing of residuals: the root of the sum of the squared residual and the squared step."""

    @classmethod
    def _compute_step(cls, raw, dtype):
        return SMALLEST_RESIDUAL

    @classmethod
    def _compute_resolution(cls, raw, inside, step):
        # Trees and interpolating models have residuals of 0 on their training records, which would
        # dominate every moment. The scale is therefore estimated on records that a model has not
        # seen.
        def list_outside():
            for row, members in zip(rows_of(raw[0]), rows_of(inside), strict=True):
                yield row[~members]

        n_outside = sum(np.count_nonzero(~members) for members in rows_of(inside))
        # The median of the residuals is the exponential of the median of their logarithms; for an
        # even number, both middle values are used.
        middle = compute_middle(list_outside, n_outside)
        typical = np.exp(-middle.astype(np.float64)).mean()
        return max(_SHARE * float(typical), step)

    def _move(self, raw, step):
        return -0.5 * np.logaddexp(-2 * raw, raw.dtype.type(2 * np.log(step)))
