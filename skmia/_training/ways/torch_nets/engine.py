"""Base class of the ways to compute the gradients of many nets."""

from abc import ABC, abstractmethod

from .loss import TotalLoss
from .stack import Stack


class Engine(ABC):
    """Gradients of the losses of many models at once.

    Parameters
    ----------
    nets : list of NeuralNet
        Initialized models of one architecture, which are not changed.
    labels : Tensor
        All targets.

    Attributes
    ----------
    stack : Stack
        Weights of the models.
    takes_sums : bool
        Whether rows are passed without the zeros of their binary columns.
    """

    takes_sums = False
    #: Whether the same kernels compute all steps of the same shape, whatever their numbers are.
    repeats = True
    #: Number of steps after which the others take as long as each other.
    n_first = 0
    #: Whether each step writes the losses of its models to ``losses``, a tensor.
    keeps_losses = False
    losses = None

    def __init__(self, nets, labels):
        self.net = nets[0]
        self.total_loss = TotalLoss(self.net, labels)
        self.stack = Stack([net.module_ for net in nets])

    def begin(self):
        """Prepare for steps after the stack may have been changed from outside."""
        return None

    def end(self):
        """Let go of what the modules of the nets share with the stack."""
        return None

    def restore(self):
        """Return the trained parameters of all models by their names in the module."""
        return self.stack.trained

    @abstractmethod
    def sites(self, x):
        """Return probability and shape of each dropout for a batch ``x`` of one model, in order."""

    @abstractmethod
    def gradients(self, models, x, y, masks):
        """Compute the gradients of the loss of each model on its own batch.

        Parameters
        ----------
        models : slice
            Models to use.
        x : Tensor of shape (n_chosen, batch, ...)
            Rows of these models.
        y : Tensor of shape (n_chosen, batch, ...)
            Targets of these models.
        masks : list of Tensor of shape (n_chosen, ...)
            One mask for each of ``sites``.

        Returns
        -------
        gradients : list of Tensor
            Gradients in the order of ``stack.trained``.
        """
