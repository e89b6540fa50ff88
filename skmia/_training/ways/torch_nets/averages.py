"""Moving averages of the weights of many models."""

import torch


class Averages:
    """The averages of :class:`WeightAverage` for stacked weights.

    Parameters
    ----------
    decay : float
        Share of the average that a step keeps.
    memory : dict of str to Tensor of shape (n_models, ...)
        Stacked weights, which the optimizer changes in place.
    """

    def __init__(self, decay, memory):
        self._decay, self._memory = decay, memory
        self.tensors = {name: torch.zeros_like(tensor) for name, tensor in memory.items()}

    def update(self, models, is_first):
        """Average the weights of some models after a step."""
        for name, average in self.tensors.items():
            weights = self._memory[name][models]
            average[models].lerp_(weights, 1.0 if is_first else 1 - self._decay)

    def read(self, restore):
        """Return what a function of the stack gives while the stack holds the averages."""
        before = {name: tensor.clone() for name, tensor in self._memory.items()}
        try:
            for name, tensor in self._memory.items():
                tensor.copy_(self.tensors[name])
            return {name: tensor.clone() for name, tensor in restore().items()}
        finally:
            for name, tensor in self._memory.items():
                tensor.copy_(before[name])
