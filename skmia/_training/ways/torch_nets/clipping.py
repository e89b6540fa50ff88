"""Clipping of the gradients of many models, each by its own norm."""

import torch


def clip(gradients, largest, order):
    """Scale the gradients of each model whose norm is too large.

    The same arithmetic as in ``torch.nn.utils.clip_grad_norm_``.

    Parameters
    ----------
    gradients : list of Tensor of shape (n_models, ...)
        Gradients of all parameters.
    largest : float
        Largest norm of all gradients of a model together.
    order : float
        Order of the norm.

    Returns
    -------
    gradients : list of Tensor of shape (n_models, ...)
    """
    if not gradients:
        return gradients
    parts = [torch.linalg.vector_norm(g.flatten(1), order, dim=1) for g in gradients]
    norm = torch.linalg.vector_norm(torch.stack(parts, 1), order, dim=1)
    factor = (largest / (norm + 1e-6)).clamp(max=1.0)
    return [g * factor.view(-1, *[1] * (g.ndim - 1)) for g in gradients]
