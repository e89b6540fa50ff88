"""How infinite values of a signal are made finite, by what the answers of models show."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

# Share of the typical residual below which differences tell nothing more.
_SHARE = 0.1
SMALLEST_RESIDUAL = 1e-12


# Whole pools are gone through row by row: what is as large as they are takes memory as they do.
def _rows(raw):
    return raw.reshape(-1, raw.shape[-1])


def _largest_finite(raw):
    return max(float(np.abs(row[np.isfinite(row)]).max(initial=0.0)) for row in _rows(raw))


@dataclass(frozen=True)
class Smoothing(ABC):
    """What was learned from the values of some models, and is applied to those of any.

    Parameters
    ----------
    resolution : float
        Finest step of the models' answers, with which all values are smoothed; with 0 those that
        are finite stay as they are.
    step : float
        With which an infinite value is smoothed where the resolution is 0: a victim may give one
        although none of the models did.
    """

    resolution: float = 0.0
    step: float = 0.0

    # Margins are in the unit of decision values, of which a user knows no finest step.
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
            Of the models' answers.
        resolution : "auto" or float, default="auto"
            A resolution that is known.

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
        return 0.0 if all(np.isfinite(row).all() for row in _rows(raw)) else step

    @classmethod
    @abstractmethod
    def _compute_step(cls, raw, dtype):
        """Step with which an infinite value is smoothed next to these."""

    @abstractmethod
    def _move(self, raw, step):
        """Values moved by a positive step."""

    def __call__(self, raw):
        """Finite values of any model; those that are finite stay where the resolution is 0."""
        if self.resolution:
            return self._move(raw, self.resolution)
        infinite = np.isinf(raw)
        return np.where(infinite, self._move(raw, self.step), raw) if infinite.any() else raw

    def of_models(self, raw):
        """Values of the models that it was learned from; infinite ones stay without resolution."""
        return self._move(raw, self.resolution) if self.resolution else raw


class Unsmoothed(Smoothing):
    """For signals whose values are always finite."""

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
    """Moves probabilities of exactly 0 or 1 inside by half of the step."""

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
    """Cuts values at plus and minus the largest finite one."""

    _takes_resolution = False

    @classmethod
    def _compute_step(cls, raw, dtype):
        # Only the missing classes of a half are infinite: such a model is as sure as any model is.
        return _largest_finite(raw)

    def _move(self, raw, step):
        return np.clip(raw, -step, step)


class ResidualSmoothing(Smoothing):
    """Adds the step to each residual, as the root of the sum of their squares."""

    @classmethod
    def _compute_step(cls, raw, dtype):
        return SMALLEST_RESIDUAL

    @classmethod
    def _compute_resolution(cls, raw, inside, step):
        # Trees and interpolating models leave their training records no residual at all, which
        # would rule every moment: the scale is that of records that a model has not seen.
        outside = np.empty(inside.size - np.count_nonzero(inside), raw.dtype)
        stop = 0
        for row, members in zip(raw[0], inside, strict=True):
            start, stop = stop, stop + len(row) - np.count_nonzero(members)
            outside[start:stop] = row[~members]
        # The middle of the residuals is that of their logarithms, both of them for an even number.
        middle = [(len(outside) - 1) // 2, len(outside) // 2]
        outside.partition(middle)
        typical = np.exp(-outside[middle].astype(np.float64)).mean()
        return max(_SHARE * float(typical), step)

    def _move(self, raw, step):
        return -0.5 * np.logaddexp(-2 * raw, raw.dtype.type(2 * np.log(step)))
