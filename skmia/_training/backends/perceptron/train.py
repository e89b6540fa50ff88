"""Joint training of perceptrons, each with its own order of records and its own end."""

import json
import warnings
from itertools import pairwise

import numpy as np
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from ...._core.callers import level_of_user
from ...._core.sklearn import (
    continue_shuffles,
    give_optimizer,
    has_stalled,
    make_adam,
    make_sgd,
    note_loss,
)


def _keep_delta(values, delta=None):
    pass


def _relu(values):
    np.maximum(values, 0, out=values)


def _relu_slope(values, delta):
    delta *= values != 0


def _tanh(values):
    np.tanh(values, out=values)


def _tanh_slope(values, delta):
    delta *= 1 - values**2


def _logistic(values):
    expit(values, out=values)


def _logistic_slope(values, delta):
    delta *= values
    delta *= 1 - values


def _softmax(values):
    values -= values.max(axis=-1, keepdims=True)
    np.exp(values, out=values)
    values /= values.sum(axis=-1, keepdims=True)


_ACTIVATIONS = {
    "identity": (_keep_delta, _keep_delta),
    "relu": (_relu, _relu_slope),
    "tanh": (_tanh, _tanh_slope),
    "logistic": (_logistic, _logistic_slope),
}
_OUTPUTS = {"identity": _keep_delta, "logistic": _logistic, "softmax": _softmax}


def _send_back(delta, coefs, out):
    if delta.shape[2] == 1:  # for an outer product, BLAS and broadcasting take twice as long
        np.einsum("kbo,kho->kbh", delta, coefs, out=out)
    else:
        np.matmul(delta, coefs.swapaxes(1, 2), out=out)


class PerceptronStack:
    """The weights of k networks, and buffers for one batch of each.

    All weights of a model are in one row, those with a penalty first, so that an optimizer can
    update them at once: parameters (k, p). batch (k, batch_size, d) is the buffer for records.
    """

    def __init__(self, networks, batch_size):
        first = networks[0]
        self._widths, self._alpha = first.widths, first.model.alpha
        self._activation, self._slope = _ACTIVATIONS[first.model.activation]
        self._output = _OUTPUTS[first.model.out_activation_]
        self._n_coef = sum(a * b for a, b in pairwise(self._widths))
        self.parameters = np.array(
            [
                np.concatenate(
                    [array.ravel() for array in (*net.model.coefs_, *net.model.intercepts_)]
                )
                for net in networks
            ]
        )
        self._make_room(batch_size)

    def _make_room(self, batch_size):
        k, dtype = len(self.parameters), self.parameters.dtype
        self._values = [np.empty((k, batch_size, width), dtype) for width in self._widths]
        self._deltas = [np.empty_like(values) for values in self._values[1:]]
        self._gradient = np.empty_like(self.parameters)
        self._scratch = np.empty((k, self._n_coef), dtype)
        self.batch = self._values[0]
        self._coefs, self._intercepts = self._split(self.parameters)
        self._coef_grads, self._intercept_grads = self._split(self._gradient)

    def _split(self, rows):
        """Return views of the weights and intercepts of each layer."""
        coefs, intercepts, begin = [], [], 0
        for a, b in pairwise(self._widths):
            coefs.append(rows[:, begin : begin + a * b].reshape(-1, a, b))
            begin += a * b
        for width in self._widths[1:]:
            intercepts.append(rows[:, None, begin : begin + width])
            begin += width
        return coefs, intercepts

    def keep(self, rows):
        """Keep only some of the models."""
        self.parameters = self.parameters[rows]
        self._make_room(self.batch.shape[1])

    def split_row(self, row):
        """Copy the row of one model as a list: the weights of the layers, then their intercepts."""
        coefs, intercepts = self._split(row[None].copy())
        return [coef[0].copy() for coef in coefs] + [
            intercept[0, 0].copy() for intercept in intercepts
        ]

    def penalty(self, rows):
        """Return the penalty of the loss, times the number of records."""
        coefs = self.parameters[rows, : self._n_coef]
        return 0.5 * self._alpha * np.einsum("kp,kp->k", coefs, coefs)

    def forward(self, rows, size):
        """Return the outputs of a slice of the models for the first ``size`` records of a batch."""
        values = self._values[0][rows, :size]
        for i, coefs in enumerate(self._coefs):
            following = self._values[i + 1][rows, :size]
            np.matmul(values, coefs[rows], out=following)
            following += self._intercepts[i][rows]
            (self._activation if i + 1 < len(self._coefs) else self._output)(following)
            values = following
        return values

    def backward(self, rows, size, y):
        """Return the gradient of the loss at the last outputs of :meth:`forward`.

        Take y of shape (k, size, n_outputs); return gradient of shape (k, p).
        """
        delta = self._deltas[-1][rows, :size]
        np.subtract(self._values[-1][rows, :size], y, out=delta)
        for i in range(len(self._coefs) - 1, -1, -1):
            values = self._values[i][rows, :size]
            np.matmul(values.swapaxes(1, 2), delta, out=self._coef_grads[i][rows])
            np.sum(delta, axis=1, keepdims=True, out=self._intercept_grads[i][rows])
            if i:
                before, coefs = self._deltas[i - 1][rows, :size], self._coefs[i][rows]
                _send_back(delta, coefs, out=before)
                self._slope(values, before)
                delta = before
        gradient, scratch = self._gradient[rows], self._scratch[rows]
        np.multiply(self.parameters[rows, : self._n_coef], self._alpha, out=scratch)
        gradient[:, : self._n_coef] += scratch
        gradient /= size
        return gradient


def sum_losses(out_activation, answers, y):
    """Sum the losses of the records of one model, without the penalty.

    Shapes: answers, y (n, n_outputs).
    """
    if out_activation == "identity":
        return 0.5 * np.sum(np.mean((y - answers) ** 2, axis=1))
    tiny = np.finfo(answers.dtype).eps
    answers = np.clip(answers, tiny, 1 - tiny)
    if out_activation == "logistic":
        answers = np.where(y > 0, answers, 1 - answers)
        return -np.sum(np.log(answers))
    return -np.sum(np.log(answers[y > 0]))


# They perform the operations of `sklearn.neural_network._stochastic_optimizers` in the same order,
# so that results are rounded in the same way, but they allocate no new arrays.


class PerceptronAdam:
    """Adam, with the bias correction in the learning rate.

    Shapes: parameters (k, p).
    """

    def __init__(self, model, parameters):
        self._rate, self._epsilon = model.learning_rate_init, model.epsilon
        self._betas = model.beta_1, model.beta_2
        self._first, self._second = np.zeros_like(parameters), np.zeros_like(parameters)
        self._scratch, self._steps = np.empty_like(parameters), np.zeros(len(parameters))

    def arrays(self):
        """Return the arrays of the state, with one row per model."""
        return self._first, self._second, self._steps

    def keep(self, rows):
        """Keep only some of the models."""
        for name in ("_first", "_second", "_scratch", "_steps"):
            setattr(self, name, getattr(self, name)[rows])

    def step(self, rows, parameters, gradient):
        """Update the parameters of a slice of the models; the gradient is overwritten."""
        first, second, scratch = self._first[rows], self._second[rows], self._scratch[rows]
        beta_1, beta_2 = self._betas
        first *= beta_1
        np.multiply(gradient, 1 - beta_1, out=scratch)
        first += scratch
        np.square(gradient, out=gradient)
        gradient *= 1 - beta_2
        second *= beta_2
        second += gradient
        np.sqrt(second, out=scratch)
        scratch += self._epsilon
        np.multiply(first, -self._corrected_rate(rows, first.dtype), out=gradient)
        gradient /= scratch
        parameters += gradient

    def export(self, row, split):
        """Return the optimizer that scikit-learn stores in a model for ``partial_fit``."""
        moments = split(self._first[row]), split(self._second[row])
        return make_adam(self._rate, self._betas, self._epsilon, moments, int(self._steps[row]))

    def _corrected_rate(self, rows, dtype):
        beta_1, beta_2 = self._betas
        self._steps[rows] += 1
        # Python's power for each model, because numpy's power differs in the last bit.
        rates = [
            self._rate * np.sqrt(1 - beta_2 ** int(t)) / (1 - beta_1 ** int(t))
            for t in self._steps[rows]
        ]
        return np.array(rates, dtype=dtype)[:, None]


class MomentumDescent:
    """Gradient descent with momentum, Nesterov's or not, at a constant rate.

    Shapes: parameters (k, p).
    """

    def __init__(self, model, parameters):
        self._rate, self._momentum = float(model.learning_rate_init), model.momentum
        self._nesterov, self._power = model.nesterovs_momentum, model.power_t
        self._velocity = np.zeros_like(parameters)

    def arrays(self):
        return (self._velocity,)

    def keep(self, rows):
        self._velocity = self._velocity[rows]

    def export(self, row, split):
        settings = self._rate, self._momentum, self._nesterov, self._power
        return make_sgd(*settings, split(self._velocity[row]))

    def step(self, rows, parameters, gradient):
        velocity = self._velocity[rows]
        gradient *= self._rate
        velocity *= self._momentum
        velocity -= gradient
        if not self._nesterov:
            parameters += velocity
            return
        np.subtract(self._momentum * velocity, gradient, out=gradient)
        parameters += gradient


def batch_size_of(model, n_rows):
    """Return the number of records in a full batch."""
    return min(200 if model.batch_size == "auto" else int(model.batch_size), n_rows)


def plan_perceptron_batches(n_rows, full):
    """Plan the batches of one epoch for models with different numbers of records."""
    batches = []
    for start in range(0, n_rows[-1], full):
        sizes = np.clip(np.subtract(n_rows, start), 0, full)
        for size in np.unique(sizes[sizes > 0]).tolist():
            first, stop = np.searchsorted(sizes, [size, size + 1]).tolist()
            batches.append((slice(first, stop), slice(start, start + size)))
    return batches


class PerceptronTraining:
    """Training of networks until each has ended."""

    def __init__(self, networks):
        # Sorted, so that models with a batch of the same size are a slice of the stack.
        self._networks = sorted(networks, key=lambda network: len(network.X))
        self._live = list(self._networks)
        self._settings = model = networks[0].model
        n_rows = len(self._live[-1].X)
        self._full = batch_size_of(model, n_rows)
        self._stack = PerceptronStack(self._live, self._full)
        kind = PerceptronAdam if model.solver == "adam" else MomentumDescent
        self._optimizer = kind(model, self._stack.parameters)
        shape = len(networks), n_rows, networks[0].widths[-1]
        self._y, self._answers = (np.zeros(shape, networks[0].X.dtype) for _ in range(2))
        for network in self._live:
            network.order, network.model.t_ = np.arange(len(network.X)), 0
        self._batches = self._plan()

    def _plan(self):
        return plan_perceptron_batches([len(network.X) for network in self._live], self._full)

    @property
    def n_models(self):
        return len(self._networks)

    def run_to_end(self, after_epoch=lambda: None, show=None):
        with np.errstate(all="ignore"):  # models that diverge are detected when training has ended
            while self._live:
                self._run_epoch()
                ended = np.array([self._ends(network) for network in self._live])
                if ended.any():
                    self._take_out(ended)
                after_epoch()
                if show is not None and self._live:
                    model = self._live[0].model
                    show(model.n_iter_ / model.max_iter, "epoch", model.n_iter_, model.max_iter)

    def export_state(self):
        """Return the state of the training as arrays by name."""
        rows = {id(network): row for row, network in enumerate(self._live)}
        live = [self._stack.parameters, *self._optimizer.arrays()]
        parts = [
            network.ending or [part[rows[id(network)]] for part in live]
            for network in self._networks
        ]
        arrays = {
            f"array {i}": np.stack(arrays_of_part)
            for i, arrays_of_part in enumerate(zip(*parts, strict=True))
        }
        orders = [net.order for net in self._networks if net.ending is None]
        arrays["orders"] = np.concatenate([*orders, []]).astype(np.int64)
        arrays["facts"] = np.array(json.dumps([network.facts() for network in self._networks]))
        return arrays

    def import_state(self, arrays):
        """Continue from the state of a training of the same networks."""
        for i, own in enumerate([self._stack.parameters, *self._optimizer.arrays()]):
            own[...] = arrays[f"array {i}"]
        facts, start = json.loads(str(arrays["facts"])), 0
        for network, own in zip(self._networks, facts, strict=True):
            network.set_facts(own)
            if not own["ended"]:
                stop = start + len(network.order)
                network.order, start = arrays["orders"][start:stop], stop
        ended = np.array([fact["ended"] for fact in facts])
        if ended.any():
            self._take_out(ended)

    def _run_epoch(self):
        for row, network in enumerate(self._live):
            if self._settings.shuffle:
                drawn = np.arange(len(network.order))
                continue_shuffles(network.model, drawn)
                network.order = network.order[drawn]
            np.take(network.y, network.order, axis=0, out=self._y[row, : len(network.y)])
        n_rows = [len(network.X) for network in self._live]
        penalty = np.zeros(len(n_rows))
        for rows, records in self._batches:
            self._step(rows, records, penalty)
        for row, network in enumerate(self._live):
            n = n_rows[row]
            activation = network.model.out_activation_
            loss = sum_losses(activation, self._answers[row, :n], self._y[row, :n])
            self._record(network.model, float(loss + penalty[row]) / n, n)

    def _step(self, rows, records, penalty):
        size = records.stop - records.start
        for network, room in zip(self._live[rows], self._stack.batch[rows], strict=True):
            # Indices are always valid; mode="clip" lets numpy write to `out` without a buffer.
            np.take(network.X, network.order[records], axis=0, out=room[:size], mode="clip")
        penalty[rows] += self._stack.penalty(rows)
        self._answers[rows, records] = self._stack.forward(rows, size)
        gradient = self._stack.backward(rows, size, self._y[rows, records])
        self._optimizer.step(rows, self._stack.parameters[rows], gradient)

    def _record(self, model, loss, n_rows):
        model.n_iter_ += 1
        model.t_ += int(n_rows)
        note_loss(model, loss)

    def _ends(self, network):
        model = network.model
        if has_stalled(model):
            return True
        network.reached_limit = model.n_iter_ == model.max_iter
        return network.reached_limit

    def _take_out(self, ended):
        for row in np.flatnonzero(ended):
            network = self._live[row]
            model, split = network.model, self._stack.split_row
            parts = [self._stack.parameters, *self._optimizer.arrays()]
            network.ending = [part[row].copy() for part in parts]
            weights = split(self._stack.parameters[row])
            model.coefs_ = weights[: model.n_layers_ - 1]
            model.intercepts_ = weights[model.n_layers_ - 1 :]
            give_optimizer(model, self._optimizer.export(row, split))
            network.X = network.y = network.order = None
        self._live = [net for net, out in zip(self._live, ended, strict=True) if not out]
        if self._live:
            self._stack.keep(~ended)
            self._optimizer.keep(~ended)
            self._batches = self._plan()
            self._y, self._answers = self._y[~ended], self._answers[~ended]


def warn_of_end(network):
    """Give the warnings that scikit-learn would give in its loop over the epochs."""
    model, n_rows = network.model, network.model.t_ // network.model.n_iter_
    if model.batch_size != "auto" and model.batch_size > n_rows:
        warnings.warn(
            "Got `batch_size` less than 1 or larger than sample size. It is going to be clipped",
            stacklevel=level_of_user(),
        )
    if network.reached_limit:
        warnings.warn(
            f"Stochastic Optimizer: Maximum iterations ({model.max_iter}) reached and the "
            "optimization hasn't converged yet.",
            ConvergenceWarning,
            stacklevel=level_of_user(),
        )
