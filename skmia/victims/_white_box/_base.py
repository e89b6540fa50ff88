"""Base class of white-box access to fitted models."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import gen_batches

from ..._core.numbers import as_numbers
from ..._core.outputs import Outputs
from ..._core.types import Rows
from ..layers import get_layers
from . import _checks as checks
from ._chunks import Chunked
from ._moments import STATISTICS, summarize
from ._pass import join, parts_of, scaled, split, transform


class WhiteBox(Chunked):
    """Gradients and layers of a fitted model, as returned by :func:`open_white_box`.

    Arrays go in and come out as numpy arrays, wherever the model itself lives, and nothing of the
    model is changed. The model is in evaluation mode, without dropout and with the learned
    statistics of batch normalization.

    *Inputs* are what the last step of the victim receives, an array of shape (n, ...) as
    :meth:`encode` makes it of the rows of records; gradients with respect to inputs are taken
    there, behind the preprocessing of a Pipeline. *y* holds task labels as in
    :attr:`skmia.Records.y`.

    The *loss* of a record is minus the log-probability of its label in nats, or the squared
    residual of a regressor, whatever weights, penalties or smoothing of labels its training
    added: a penalty on the parameters belongs to no record. *Parameters* are those that were
    trained; what a torch module holds with ``requires_grad=False`` is left out. What needs logits
    raises a ValueError for a regressor.

    Parameters
    ----------
    model : fitted estimator
        The last step of the victim.
    transformers : list of fitted transformers
        The steps before it.
    head : object
        Object that computes losses and logits from the outputs of the model.
    classes : ndarray of shape (n_classes,) or None
        Labels of the columns of the logits; None for a regressor.
    parameter_shapes : dict of str to tuple
        Shape of each parameter, in the order in which gradients are flattened. Weights have one
        row for each output unit, in a perceptron of scikit-learn too (which keeps columns).
    chunk_size : int or None
        Number of rows that are processed at once.

    Attributes
    ----------
    n_parameters : int
        Total number of trained values.
    statistics : tuple of str
        Names of the columns of :meth:`gradient_statistics`.

    See Also
    --------
    open_white_box : Function that opens a victim.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skmia.victims import open_white_box
    >>> X, y = [[-2.0], [-1.0], [1.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> white_box = open_white_box(LogisticRegression().fit(X, y))
    >>> white_box.parameter_shapes
    {'coef_': (1, 1), 'intercept_': (1,)}
    >>> white_box.gradient_norms(white_box.encode(X), y).round(3)
    array([0.254, 0.355, 0.43 , 0.19 ])
    """

    statistics = STATISTICS

    def __init__(
        self,
        model: BaseEstimator,
        transformers: list,
        head: object,
        classes: np.ndarray | None,
        parameter_shapes: dict[str, tuple[int, ...]],
        chunk_size: int | None,
    ) -> None:
        super().__init__(chunk_size)
        self.model, self.classes = model, classes
        self.parameter_shapes = parameter_shapes
        self.n_parameters = sum(int(np.prod(shape)) for shape in parameter_shapes.values())
        self._transformers, self._head = transformers, head

    def encode(self, X: Rows) -> np.ndarray:
        """Apply the fitted preprocessing to rows.

        Parameters
        ----------
        X : ndarray, DataFrame, sparse matrix or torch tensor of n rows
            Rows in the form that the victim expects, as in :attr:`skmia.Records.X`.

        Returns
        -------
        inputs : ndarray of shape (n, ...)
            Input of the model; sparse rows become dense.
        """
        return self._check_inputs(transform(self._transformers, X))

    def outputs(self, inputs: np.ndarray) -> Outputs:
        """Outputs of the model, in the form that signals read.

        Parameters
        ----------
        inputs : ndarray of shape (n, ...)
            Encoded rows.

        Returns
        -------
        outputs : Outputs of n answers
            Of kind ``"logits"``, or ``"value"`` for a regressor.
        """
        inputs = self._check_inputs(inputs)
        return self._head.outputs(self._ask(inputs))

    def logits(self, inputs: np.ndarray) -> np.ndarray:
        """Logits of a classifier; their softmax gives its probabilities.

        Parameters
        ----------
        inputs : ndarray of shape (n, ...)
            Encoded rows.

        Returns
        -------
        logits : ndarray of shape (n, n_classes)
            The first column is 0 where the model has one logit for two classes; log-probabilities
            where it has only probabilities.
        """
        checks.check_classifier(self.classes)
        inputs = self._check_inputs(inputs)
        return self._head.logits(self._ask(inputs))

    def loss(self, inputs: np.ndarray, y: ArrayLike) -> np.ndarray:
        """Loss of each record.

        Parameters
        ----------
        inputs : ndarray of shape (n, ...)
            Encoded rows.
        y : array-like of shape (n,)
            Task labels.

        Returns
        -------
        loss : ndarray of shape (n,)
            Loss, in nats, or in squared units of y.
        """
        inputs, target = self._check(inputs, y)
        return self._head.loss(self._ask(inputs), target)

    def loss_gradients(
        self, inputs: np.ndarray, y: ArrayLike, wrt: Literal["parameters", "inputs"] = "parameters"
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Gradient of the loss of each record, a chunk of records at a time.

        Parameters
        ----------
        inputs : ndarray of shape (n, ...)
            Encoded rows.
        y : array-like of shape (n,)
            Task labels.
        wrt : {"parameters", "inputs"}, default="parameters"
            What the gradient is taken with respect to.

        Returns
        -------
        chunks : iterator of (rows, gradients)
            A slice and an array of shape (n_rows, n_parameters) or (n_rows, n_features); parameters
            are flattened one after the other, as in ``parameter_shapes``.
        """
        checks.check_wrt(wrt, self)
        names = tuple(self.parameter_shapes)

        def flatten(forward, unit, scale):
            parts = parts_of(forward, unit, wrt, names)
            return np.concatenate([scaled(part, scale) for part in parts], axis=1)

        task = "whole" if wrt == "parameters" else wrt
        return self._each(inputs, y, wrt, task, flatten)

    def gradient_norms(
        self, inputs: np.ndarray, y: ArrayLike, wrt: Literal["parameters", "inputs"] = "parameters"
    ) -> np.ndarray:
        """Euclidean norm of the gradient of the loss of each record.

        The gradients themselves are not stored.

        Parameters
        ----------
        inputs : ndarray of shape (n, ...)
            Encoded rows.
        y : array-like of shape (n,)
            Task labels.
        wrt : {"parameters", "inputs"}, default="parameters"
            What the gradient is taken with respect to.

        Returns
        -------
        norms : ndarray of shape (n,)
        """
        checks.check_wrt(wrt, self)

        def measure(forward, unit, scale):
            if wrt == "parameters":
                return scale * np.sqrt(forward.squared_norms(unit))
            (part,) = parts_of(forward, unit, wrt)
            return scale * np.linalg.norm(part.astype(np.float64), axis=1)

        task = "norms" if wrt == "parameters" else wrt
        return join(self._each(inputs, y, wrt, task, measure), len(inputs))

    def gradient_statistics(
        self, inputs: np.ndarray, y: ArrayLike, wrt: Literal["parameters", "inputs"] = "parameters"
    ) -> np.ndarray:
        """Seven statistics of the entries of the gradient of the loss of each record.

        Parameters
        ----------
        inputs : ndarray of shape (n, ...)
            Encoded rows.
        y : array-like of shape (n,)
            Task labels.
        wrt : {"parameters", "inputs"}, default="parameters"
            What the gradient is taken with respect to.

        Returns
        -------
        statistics : ndarray of shape (n, 7)
            The l1, l2 and maximum norm, the mean, the skewness, the excess kurtosis and the
            smallest absolute value, as ``WhiteBox.statistics`` names them. Skewness and kurtosis
            are 0 where all entries are equal.
        """
        checks.check_wrt(wrt, self)
        names = tuple(self.parameter_shapes)

        def measure(forward, unit, scale):
            return summarize(parts_of(forward, unit, wrt, names), scale)

        task = "parts" if wrt == "parameters" else wrt
        return join(self._each(inputs, y, wrt, task, measure), len(inputs), len(STATISTICS))

    def input_gradient(self, inputs: np.ndarray, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Loss of each record and its gradient with respect to the inputs, for perturbations.

        Parameters
        ----------
        inputs : ndarray of shape (n, ...)
            Encoded rows.
        y : array-like of shape (n,)
            Task labels.

        Returns
        -------
        loss : ndarray of shape (n,)
        gradient : ndarray of the shape of inputs
        """
        inputs, target = self._check(inputs, y)
        losses = np.empty(len(inputs))

        def pull(raw, rows):
            losses[rows] = self._head.loss(raw, target[rows])
            return self._head.cotangent(raw, target[rows])

        return losses, self._pull(inputs, pull)

    def logit_gradient(self, inputs: np.ndarray, weights: ArrayLike) -> np.ndarray:
        """Gradient of a weighted sum of logits with respect to the inputs.

        Parameters
        ----------
        inputs : ndarray of shape (n, ...)
            Encoded rows.
        weights : array-like of shape (n, n_classes)
            Weight of each logit of each record, for instance 1 for one class and -1 for another.

        Returns
        -------
        gradient : ndarray of the shape of inputs
        """
        checks.check_classifier(self.classes)
        inputs = self._check_inputs(inputs)
        weights = as_numbers(weights, "weights", "numbers")
        expected = (len(inputs), len(self.classes))
        if weights.shape != expected:
            raise ValueError(f"weights must have the shape {expected}; got {weights.shape}.")
        return self._pull(inputs, lambda raw, rows: self._head.pull(raw, weights[rows]))

    def layer_names(self, inputs: np.ndarray) -> list[str]:
        """Names of the layers, in the order in which a record passes them.

        Parameters
        ----------
        inputs : ndarray of shape (n, ...)
            Encoded rows; one is enough.

        Returns
        -------
        names : list of str
            Of a torch module, the modules without modules inside, and attention, that give a
            row of floating-point numbers for each record, without dropout, flattening and
            identities; one that is passed again is named ``"name#2"``. Functions that a
            ``forward`` calls are not modules and are not seen. Of a scikit-learn model, the hidden
            layers after their activation, then ``"output"``.
        """
        return list(self._read_layers(self._check_inputs(inputs)[:1]))

    def layer_outputs(
        self, inputs: np.ndarray, layers: Sequence[str | int] | None = None
    ) -> list[np.ndarray]:
        """Outputs of the layers for each record.

        Parameters
        ----------
        inputs : ndarray of shape (n, ...)
            Encoded rows.
        layers : sequence of str or int, default=None
            Names of layers, or their positions in :meth:`layer_names`; -1 is the last. If None, all
            layers.

        Returns
        -------
        outputs : list of ndarray of shape (n, n_units)
            One array for each layer, in the given order, or in the order of the forward pass if
            `layers` is None. Images and sequences are averaged over their positions: the channels
            come second after convolutions, pooling and normalization over batches or groups, last
            after other layers, and where they were after activations.
        """
        inputs = self._check_inputs(inputs)
        chosen = get_layers(layers, self.layer_names(inputs))
        size = self._chunk_size or self._rows_at_once(inputs, "answers")
        parts = [self._read_layers(inputs[rows], chosen) for rows in gen_batches(len(inputs), size)]
        return [np.concatenate([part[name] for part in parts]) for name in chosen]

    def layer_gradients(
        self, inputs: np.ndarray, y: ArrayLike, parameters: Sequence[str] | None = None
    ) -> Iterator[tuple[slice, dict[str, np.ndarray]]]:
        """Gradient of the loss with respect to single parameters, in their shapes.

        Parameters
        ----------
        inputs : ndarray of shape (n, ...)
            Encoded rows.
        y : array-like of shape (n,)
            Task labels.
        parameters : sequence of str, default=None
            Names among ``parameter_shapes``. If None, the weights of the last layer.

        Returns
        -------
        chunks : iterator of (rows, gradients)
            A slice and a dict of each name to an array of shape ``(n_rows, *shape)``.
        """
        checks.check_wrt("parameters", self)
        names = checks.check_parameters(parameters, self.parameter_shapes)

        def collect(forward, unit, scale):
            parts = forward.parameter_gradients(unit, names)
            return {name: scaled(part, scale) for name, part in zip(names, parts)}

        return self._each(inputs, y, "parameters", "whole", collect)

    @abstractmethod
    def _read_layers(self, chunk, names=None):
        """What the layers of these names, or all, give for a chunk: dict of name to (m, n)."""

    def _each(self, inputs, y, wrt, task, measure):
        """Chunks of ``measure(forward pass, cotangent, scale)`` for the gradients of the loss."""
        inputs, target = self._check(inputs, y)

        def answer(forward, rows):
            return measure(forward, *split(self._head.cotangent(forward.raw, target[rows])))

        return self._apply(inputs, task, wrt, answer)

    def _check_inputs(self, inputs):
        return checks.check_inputs(inputs)

    def _check(self, inputs, y):
        inputs = self._check_inputs(inputs)
        return inputs, self._head.check_targets(y, len(inputs))
