"""What the training loop needs of a way to compute gradients."""

from abc import ABC, abstractmethod

from .loss import TotalLoss
from .stack import Stack


class Engine(ABC):
    """Gradients of the losses of many models at once.

    Parameters
    ----------
    nets : list of NeuralNet
        The models, initialized and of one architecture; they are read only.
    labels : Tensor
        All targets.

    Attributes
    ----------
    stack : Stack
        Their weights.
    takes_sums : bool
        Whether the rows that are handed to it come without their zeros.
    """

    takes_sums = False

    def __init__(self, nets, labels):
        self.net = nets[0]
        self.total_loss = TotalLoss(self.net, labels)
        self.stack = Stack([net.module_ for net in nets])

    def restore(self):
        """Trained parameters of all models by their names in the module."""
        return self.stack.trained

    @abstractmethod
    def sites(self, x):
        """Probability and shape of each dropout of one model's batch ``x``, in order."""

    @abstractmethod
    def gradients(self, models, x, y, masks):
        """Gradients of each model's loss on its own batch.

        Parameters
        ----------
        models : slice
            Which models.
        x : Tensor of shape (n_chosen, batch, ...)
            Their rows.
        y : Tensor of shape (n_chosen, batch, ...)
            Their targets.
        masks : list of Tensor of shape (n_chosen, ...)
            For each of ``sites``.

        Returns
        -------
        gradients : list of Tensor
            In the order of ``stack.trained``.
        """
