"""The weights of many models, stacked parameter by parameter."""

import torch


class Stack:
    """Parameters and buffers of modules of one architecture.

    Parameters
    ----------
    modules : list of Module
        The models, initialised; they are read only.

    Attributes
    ----------
    trained : dict of str to Tensor of shape (n_models, ...)
        Parameters that the optimizer changes.
    fixed : dict of str to Tensor of shape (n_models, ...)
        Frozen parameters, and buffers, which the forward pass may change.
    """

    def __init__(self, modules):
        named = [{**dict(m.named_parameters()), **dict(m.named_buffers())} for m in modules]
        self.trained, self.fixed = {}, {}
        for name, first in named[0].items():
            part = self.trained if first.requires_grad else self.fixed
            part[name] = torch.stack([one[name].detach() for one in named])

    @property
    def dtype(self):
        """Type of the trained parameters."""
        return next(iter(self.trained.values())).dtype

    def load_into(self, k, module):
        """Give a module the weights of model ``k``."""
        named = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        with torch.no_grad():
            for name, stacked in {**self.trained, **self.fixed}.items():
                named[name].copy_(stacked[k])
