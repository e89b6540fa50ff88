"""Exponential moving average of the weights of a skorch net."""

from typing import Any, Self

from sklearn.base import BaseEstimator

from .numbers import show

# Events of skorch at which nothing happens. Its base class of callbacks would have to be imported.
_OTHER_EVENTS = {
    "on_batch_begin",
    "on_epoch_begin",
    "on_epoch_end",
    "on_grad_computed",
    "on_train_begin",
}


class WeightAverage(BaseEstimator):
    """Callback of skorch by which a fitted net has the moving average of its weights.

    After the first step the average is the weights, and after each further one ``decay`` times the
    average plus ``1 - decay`` times the weights, as in ``torch.optim.swa_utils.AveragedModel`` with
    ``get_ema_multi_avg_fn(decay)``. At the end of the training the net gets the averages. Buffers,
    such as the statistics of a batch norm, stay those of the last step. Losses and scores of the
    epochs are those of the weights that are trained.

    Parameters
    ----------
    decay : float, default=0.999
        Share of the average that a step keeps, from 0 to 1.

    Examples
    --------
    >>> import torch
    >>> from skorch import NeuralNetClassifier
    >>> from skmia.victims import WeightAverage
    >>> net = NeuralNetClassifier(torch.nn.Identity, callbacks=[WeightAverage(decay=0.99)])
    """

    def __init__(self, decay: float = 0.999) -> None:
        self.decay = decay

    def initialize(self) -> Self:
        """Check the parameters; skorch calls it when a net is initialized.

        Returns
        -------
        self : WeightAverage
        """
        if not 0 <= self.decay <= 1:
            raise ValueError(f"decay must be from 0 to 1; got {show(self.decay)}.")
        self.averages_ = None
        return self

    def on_batch_end(
        self, net: Any, batch: Any = None, training: bool | None = None, **kwargs: Any
    ) -> None:
        """Average the weights after a step.

        Parameters
        ----------
        net : NeuralNet
            Net that is trained.
        batch : tuple, default=None
            Not used.
        training : bool, default=None
            Whether the batch was one of the training.
        **kwargs : dict
            Not used.
        """
        if not training:
            return
        weights = [parameter.detach() for parameter in net.module_.parameters()]
        if self.averages_ is None:
            self.averages_ = [parameter.clone() for parameter in weights]
            return
        for average, parameter in zip(self.averages_, weights, strict=True):
            average.lerp_(parameter, 1 - self.decay)

    def on_train_end(self, net: Any, X: Any = None, y: Any = None, **kwargs: Any) -> None:
        """Give the averages to the net.

        Parameters
        ----------
        net : NeuralNet
            Net that was trained.
        X, y : array-like, default=None
            Not used.
        **kwargs : dict
            Not used.
        """
        for average, parameter in zip(self.averages_ or [], net.module_.parameters()):
            parameter.data.copy_(average)
        self.averages_ = None

    def __getattr__(self, name):
        if name in _OTHER_EVENTS:
            return _skip_update
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")


def _skip_update(net, **kwargs):
    pass
