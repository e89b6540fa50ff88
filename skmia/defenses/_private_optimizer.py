"""The steps of an optimizer with clipped gradients and noise; imported where opacus is there."""

import numpy as np
import torch
from opacus.optimizers import DPOptimizer

from .private_randomness import choose_grids


class PrivateOptimizer(DPOptimizer):
    """opacus's optimizer with sums that are exact and noise that torch's generator does not make.

    A row with a gradient that is not finite contributes nothing. Clipped gradients are rounded to
    a grid that the settings alone determine, and noise is added in whole steps of it. Rounding adds
    at most half a step to each component of a row's contribution, which the noise pays for.

    Parameters
    ----------
    optimizer : torch Optimizer
        It makes the steps.
    randomness : PrivateRandomness
        Source of the noise.
    extra : ExtraGradients or None
        Gradients that are added as rows' gradients are.
    **settings : dict
        Those of opacus's optimizer.
    """

    def __init__(self, optimizer, randomness, *, extra=None, **settings):
        super().__init__(optimizer, **settings)
        self._randomness = randomness
        self._extra = extra
        scale = self.noise_multiplier * self.max_grad_norm
        self._grid = None
        if self.noise_multiplier:  # a product that ends at 0 is refused like one that nearly does
            self._grid = float(choose_grids(scale or np.nextafter(0, 1)))
        n_parameters = sum(parameter.numel() for parameter in self.params)
        rounding = 0.0 if self._grid is None else self._grid * np.sqrt(n_parameters)
        self._scale = self.noise_multiplier * (self.max_grad_norm + rounding)

    def clip_and_accumulate(self):
        """Clip the gradient of each row and add them up, in steps of the grid."""
        samples = [sample.flatten(start_dim=1) for sample in self.grad_samples]
        if self._extra is not None:
            drawn = zip(samples, self._extra.draw(self.params), strict=True)
            samples = [torch.cat([sample, extra.to(sample)]) for sample, extra in drawn]
        factors = self._compute_factors(samples)
        for parameter, sample in zip(self.params, samples, strict=True):
            clipped = factors.to(sample.device)[:, None] * sample.double()
            # A product of 0 and infinity would be NaN.
            clipped[factors == 0] = 0
            if self._grid is not None:
                clipped = clipped.div_(self._grid).round_()
            total = clipped.sum(dim=0).view_as(parameter)
            known = parameter.summed_grad
            parameter.summed_grad = total if known is None else known + total

    def _compute_factors(self, samples):
        """What each row's gradient is multiplied by; 0 where it is not finite."""
        squares = [torch.linalg.vector_norm(s, dim=1, dtype=torch.float64) ** 2 for s in samples]
        finite = [torch.isfinite(sample).all(dim=1) for sample in samples]
        norms = torch.stack([square.cpu() for square in squares]).sum(dim=0).sqrt()
        # Rounded down, so that the norm after clipping is not above the limit.
        factors = (self.max_grad_norm / norms * (1 - 1e-12)).clamp(max=1)
        usable = torch.stack([flags.cpu() for flags in finite]).all(dim=0) & torch.isfinite(norms)
        return torch.where(usable, torch.nan_to_num(factors, nan=1.0), 0.0)

    def add_noise(self):
        """Add noise in whole steps of the grid."""
        for parameter in self.params:
            total = parameter.summed_grad
            if self._grid is not None:
                scales = np.full(total.numel(), self._scale)
                noise = torch.from_numpy(self._randomness.noise_in_steps(scales, self._grid))
                total = (total + noise.to(total.device).view_as(total)) * self._grid
            parameter.grad = total.to(parameter.dtype).view_as(parameter)
