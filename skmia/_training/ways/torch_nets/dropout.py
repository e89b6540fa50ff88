"""Dropout masks from the generator of each model."""

import torch
from torch import nn


def is_active(module):
    """Whether a module is a Dropout that draws random numbers."""
    return type(module) is nn.Dropout and 0 < module.p < 1


def draw_masks(sites, generators, dtype):
    """Draw the masks of one batch in the order in which the modules of a net draw them.

    Parameters
    ----------
    sites : list of (float, tuple of int)
        Probability of a zero and shape of the input, for each module that drops out.
    generators : list of torch Generator
        Random generators of the models.
    dtype : torch dtype
        Type of the activations.

    Returns
    -------
    masks : list of Tensor of shape (n_models, ...)
        Zeros, and 1 / (1 - p) elsewhere.
    """
    device = generators[0].device
    masks = [torch.empty(len(generators), *shape, dtype=dtype, device=device) for _, shape in sites]
    for k, generator in enumerate(generators):
        for (p, _), mask in zip(sites, masks, strict=True):
            mask[k].bernoulli_(1 - p, generator=generator)
    return [mask.div_(1 - p) for (p, _), mask in zip(sites, masks, strict=True)]
