"""Base class of white-box access to fitted models."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Literal

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import gen_batches

from ..._core.containers import (
    as_rows,
    frame_to_numpy,
    in_memory,
    is_frame,
    is_tensor,
    to_numpy,
)
from ..._core.error_hints import with_advice
from ..._core.metric_inputs import check_option
from ..._core.numbers import as_numbers, show, to_array
from ..._core.outputs import Outputs
from ..._core.randomness import preserved_randomness
from ..._core.types import ArrayLike, Rows
from .._known_values import order_columns


def check_layers(layers):
    if layers is not None and not len(layers):
        raise ValueError(f"layers must name one or more layers; got {show(layers)}.")
    return layers


def get_layers(layers, names):
    """Return the names of layers given by names or positions; all layers if None."""
    if layers is None:
        return names
    if isinstance(layers, str) or not np.iterable(layers):
        raise ValueError(f"layers must be a sequence of names or positions; got {show(layers)}.")
    chosen = []
    for layer in layers:
        if isinstance(layer, Integral) and -len(names) <= layer < len(names):
            chosen.append(names[layer])
        elif isinstance(layer, str) and layer in names:
            chosen.append(layer)
        else:
            raise ValueError(
                f"Unknown layer {show(layer)}; the {len(names)} layers are {', '.join(names)}."
            )
    return chosen


def check_inputs(inputs):
    """Return inputs as an array of numbers with one row for each of at least one record."""
    inputs = to_array(inputs, "inputs", "be an array of numbers, as encode(X) makes it")
    if inputs.ndim < 2 or not len(inputs) or inputs.dtype.kind not in "biuf":
        raise ValueError(
            "inputs must be an array of numbers with one row for each of one or more records, as "
            f"encode(X) makes it; got an array of {inputs.dtype} of shape {inputs.shape}."
        )
    return inputs


def check_classifier(classes):
    """Check that there are classes to have logits of."""
    if classes is None:
        raise ValueError("A regressor has no logits; outputs(inputs) gives its values.")


def check_wrt(wrt, white_box):
    if (
        check_option(wrt, "wrt", ("parameters", "inputs")) == "parameters"
        and not white_box.n_parameters
    ):
        raise ValueError("The model has no trained parameters.")


def check_parameters(names, shapes):
    """Return the names of parameters as a list; if None, the weights of the last layer."""
    if names is None:
        return [name for name, shape in shapes.items() if len(shape) > 1][-1:]
    if isinstance(names, str) or not np.iterable(names):
        raise ValueError(f"parameters must be a sequence of names; got {show(names)}.")
    for name in names:
        if not isinstance(name, str) or name not in shapes:
            raise ValueError(f"Unknown parameter {name!r}; the parameters are {', '.join(shapes)}.")
    return list(names)


class ForwardPass(ABC):
    """A chunk of m inputs that went through a model once, and the ways back."""

    raw: np.ndarray  # (m, k): what the model gave, in float64

    @abstractmethod
    def input_gradients(self, cotangent):
        """Return the gradient of the sum of cotangent * raw, (m, k), with respect to each input."""

    @abstractmethod
    def parameter_gradients(self, cotangent, names):
        """Return the same for the named parameters.

        Yields one array of shape (m, *shape) for each.
        """

    @abstractmethod
    def squared_norms(self, cotangent):
        """Return the squared norm, (m,), of the same for all parameters."""


def transform(transformers, X):
    """Return rows of any container, as the steps before a model pass them on, as a dense array."""
    X = as_rows(X)
    with preserved_randomness():
        for transformer in transformers:
            with with_advice(transformer, X):
                X = transformer.transform(X)
    X = in_memory(X)
    if sparse.issparse(X):
        return X.toarray()
    if is_frame(X):
        return frame_to_numpy(X)
    return to_numpy(X) if is_tensor(X) else np.asarray(X)


def split(cotangent):
    """Return the cotangents of largest entry 1, and what they were divided by.

    Gradients are linear in the cotangent. Those of a confident model would be lost in the range of
    float32.
    """
    scale = abs(cotangent).max(axis=1)
    return cotangent / np.where(scale > 0, scale, 1)[:, None], scale


def iter_gradient_parts(forward, cotangent, wrt, names=()):
    """Yield the gradients of a forward pass as matrices, in parts of their columns."""
    if wrt == "inputs":
        yield forward.input_gradients(cotangent).reshape(len(cotangent), -1)
    else:
        for part in forward.parameter_gradients(cotangent, names):
            yield part.reshape(len(cotangent), -1)


def scaled(part, scale):
    """Return rows times a number of their own, as an array of numpy."""
    part = to_numpy(part) if is_tensor(part) else part
    return part * scale.reshape(-1, *[1] * (part.ndim - 1)).astype(part.dtype)


def join_chunks(chunks, n, *shape):
    """Return the chunks of rows as one array."""
    joined = np.empty((n, *shape))
    for rows, values in chunks:
        joined[rows] = values
    return joined


class ChunkedModel(ABC):
    """A model through which inputs are sent in chunks."""

    def __init__(self, chunk_size):
        self._chunk_size = chunk_size

    @abstractmethod
    def _pass(self, chunk, wrt):
        """Return a context manager, a ForwardPass, that sends a chunk through the model.

        wrt names the gradients that will be computed, or is None.
        """

    @abstractmethod
    def _rows_at_once(self, inputs, task):
        """Return size of a chunk for a task: "answers", "inputs", "norms", "parts" or "whole"."""

    def _apply(self, inputs, task, wrt, answer):
        """Yield the rows and ``answer(forward pass, rows)`` of each chunk."""
        size = self._chunk_size or self._rows_at_once(inputs, task)
        for rows in gen_batches(len(inputs), size):
            # The pass ends before the result is yielded, so the caller never sees a changed model.
            with self._pass(inputs[rows], wrt) as forward:
                bad = np.isnan(forward.raw).any(axis=1)
                if bad.any():
                    place = rows.start + bad.argmax()
                    raise ValueError(f"The model returned NaN for the record at position {place}.")
                found = answer(forward, rows)
            yield rows, found

    def _ask(self, inputs):
        chunks = self._apply(inputs, "answers", None, lambda forward, rows: forward.raw)
        return np.concatenate([raw for _, raw in chunks])

    def _pull(self, inputs, cotangent):
        """Return the gradients of inputs for ``cotangent(raw, rows)`` of each chunk."""

        def answer(forward, rows):
            unit, scale = split(cotangent(forward.raw, rows))
            return scaled(forward.input_gradients(unit), scale)

        chunks = self._apply(inputs, "inputs", "inputs", answer)
        return np.concatenate([part for _, part in chunks])


STATISTICS = ("l1", "l2", "linf", "mean", "skewness", "kurtosis", "min_abs")

# Numbers that are looked at together: in double precision they stay in the cache.
_BLOCK, _BLOCK_ON_GPU = 2**16, 2**26


def summarize_rows(parts, scale):
    """Return the statistics of the entries of each row of a matrix whose columns come in parts.

    Central moments are taken block by block, so that none is the difference of large numbers.

    Take parts of shape (m, n_columns), scale of shape (m,); return statistics of shape (m, 7).
    """
    blocks = [_measure_block(block) for part in parts for block in _cut(part)]
    sizes = np.array([size for size, *_ in blocks])[:, None]
    means, squares, cubes, fourths, l1, top, bottom = (
        np.stack(found) for found in zip(*(found for _, *found in blocks))
    )
    n = sizes.sum()
    mean = (sizes * means).sum(axis=0) / n
    # Moments around the mean of a block, moved to the mean of all.
    d = means - mean
    fourths = (fourths + 4 * d * cubes + 6 * d**2 * squares + sizes * d**4).sum(axis=0)
    cubes = (cubes + 3 * d * squares + sizes * d**3).sum(axis=0)
    squares = (squares + sizes * d**2).sum(axis=0)
    l1, top, bottom = l1.sum(axis=0), top.max(axis=0), bottom.min(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        skewness = np.sqrt(n) * cubes / squares**1.5
        kurtosis = n * fourths / squares**2 - 3
    spread = squares > n * (1e-14 * mean) ** 2  # else the deviations are rounding
    shapes = [np.where(spread, value, 0.0) for value in (skewness, kurtosis)]
    l2 = np.sqrt(squares + n * mean**2)
    sizes = [scale * value for value in (l1, l2, top, mean)]
    return np.column_stack([*sizes, *shapes, scale * bottom])


def _cut(part):
    """Yield the blocks of columns, as tensors only where they are on a GPU."""
    on_gpu = is_tensor(part) and part.is_cuda
    part = to_numpy(part) if is_tensor(part) and not on_gpu else part
    step = max(1, (_BLOCK_ON_GPU if on_gpu else _BLOCK) // len(part))
    for start in range(0, part.shape[1], step):
        yield part[:, start : start + step]


def _measure_block(block):
    """Count, mean, sums of the powers of deviations, sum and extremes of the absolute values."""
    x = block.double() if is_tensor(block) else block.astype(np.float64)
    mean, size = x.mean(1), abs(x)
    x = x - mean[:, None]
    square = x * x
    found = (
        mean,
        square.sum(1),
        _dot(square, x),
        _dot(square, square),
        size.sum(1),
        size.amax(1) if is_tensor(size) else size.max(1),
        size.amin(1) if is_tensor(size) else size.min(1),
    )
    return x.shape[1], *(to_numpy(array) if is_tensor(array) else array for array in found)


def _dot(a, b):
    return (a * b).sum(1) if is_tensor(a) else np.einsum("ij,ij->i", a, b)


class WhiteBox(ChunkedModel):
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
        first = self._transformers[0] if self._transformers else self.model
        return self._check_inputs(transform(self._transformers, order_columns(first, X)))

    def outputs(self, inputs: np.ndarray) -> Outputs:
        """Return the outputs of the model, in the form that signals read.

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
        """Return the logits of a classifier; their softmax gives its probabilities.

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
        check_classifier(self.classes)
        inputs = self._check_inputs(inputs)
        return self._head.logits(self._ask(inputs))

    def loss(self, inputs: np.ndarray, y: ArrayLike) -> np.ndarray:
        """Return the loss of each record.

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
        """Return the gradient of the loss of each record, a chunk of records at a time.

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
        check_wrt(wrt, self)
        names = tuple(self.parameter_shapes)

        def flatten(forward, unit, scale):
            parts = iter_gradient_parts(forward, unit, wrt, names)
            return np.concatenate([scaled(part, scale) for part in parts], axis=1)

        task = "whole" if wrt == "parameters" else wrt
        return self._each(inputs, y, wrt, task, flatten)

    def gradient_norms(
        self, inputs: np.ndarray, y: ArrayLike, wrt: Literal["parameters", "inputs"] = "parameters"
    ) -> np.ndarray:
        """Return the Euclidean norm of the gradient of the loss of each record.

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
        check_wrt(wrt, self)

        def measure(forward, unit, scale):
            if wrt == "parameters":
                return scale * np.sqrt(forward.squared_norms(unit))
            (part,) = iter_gradient_parts(forward, unit, wrt)
            return scale * np.linalg.norm(part.astype(np.float64), axis=1)

        task = "norms" if wrt == "parameters" else wrt
        return join_chunks(self._each(inputs, y, wrt, task, measure), len(inputs))

    def gradient_statistics(
        self, inputs: np.ndarray, y: ArrayLike, wrt: Literal["parameters", "inputs"] = "parameters"
    ) -> np.ndarray:
        """Return seven statistics of the entries of the gradient of the loss of each record.

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
        check_wrt(wrt, self)
        names = tuple(self.parameter_shapes)

        def measure(forward, unit, scale):
            return summarize_rows(iter_gradient_parts(forward, unit, wrt, names), scale)

        task = "parts" if wrt == "parameters" else wrt
        return join_chunks(self._each(inputs, y, wrt, task, measure), len(inputs), len(STATISTICS))

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
        """Return the gradient of a weighted sum of logits with respect to the inputs.

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
        check_classifier(self.classes)
        inputs = self._check_inputs(inputs)
        weights = as_numbers(weights, "weights", "numbers")
        expected = (len(inputs), len(self.classes))
        if weights.shape != expected:
            raise ValueError(f"weights must have the shape {expected}; got {weights.shape}.")
        return self._pull(inputs, lambda raw, rows: self._head.pull(raw, weights[rows]))

    def layer_names(self, inputs: np.ndarray) -> list[str]:
        """Return the names of the layers, in the order in which a record passes them.

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
        """Return the outputs of the layers for each record.

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
        """Return the gradient of the loss with respect to single parameters, in their shapes.

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
        check_wrt("parameters", self)
        names = check_parameters(parameters, self.parameter_shapes)

        def collect(forward, unit, scale):
            parts = forward.parameter_gradients(unit, names)
            return {name: scaled(part, scale) for name, part in zip(names, parts)}

        return self._each(inputs, y, "parameters", "whole", collect)

    @abstractmethod
    def _read_layers(self, chunk, names=None):
        """Return what the layers of these names, or all, give for a chunk.

        Dict of name to (m, n).
        """

    def _each(self, inputs, y, wrt, task, measure):
        """Chunks of ``measure(forward pass, cotangent, scale)`` for the gradients of the loss."""
        inputs, target = self._check(inputs, y)

        def answer(forward, rows):
            return measure(forward, *split(self._head.cotangent(forward.raw, target[rows])))

        return self._apply(inputs, task, wrt, answer)

    def _check_inputs(self, inputs):
        return check_inputs(inputs)

    def _check(self, inputs, y):
        inputs = self._check_inputs(inputs)
        return inputs, self._head.check_targets(y, len(inputs))
