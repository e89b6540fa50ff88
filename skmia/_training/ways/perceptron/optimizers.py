"""Optimizers of scikit-learn's perceptrons for many models at once.

Each operation is the one of ``sklearn.neural_network._stochastic_optimizers``, in its order, so
that the rounding is the same too; what differs is that nothing is allocated.
"""

import numpy as np

from ...._core.sklearn import make_adam, make_sgd


class Adam:
    """Adam, with the correction of the bias in the learning rate.

    Parameters
    ----------
    model : MLPClassifier or MLPRegressor
        Its settings are read.
    parameters : ndarray of shape (k, p)
        Of all models, changed in place.
    """

    def __init__(self, model, parameters):
        self._rate, self._epsilon = model.learning_rate_init, model.epsilon
        self._betas = model.beta_1, model.beta_2
        self._first, self._second = np.zeros_like(parameters), np.zeros_like(parameters)
        self._scratch, self._steps = np.empty_like(parameters), np.zeros(len(parameters))

    def arrays(self):
        """What it keeps of each model."""
        return self._first, self._second, self._steps

    def keep(self, rows):
        """Go on with some of the models."""
        for name in ("_first", "_second", "_scratch", "_steps"):
            setattr(self, name, getattr(self, name)[rows])

    def step(self, rows, parameters, gradient):
        """Change the parameters of a slice of the models; the gradient is used up."""
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
        """The optimizer that scikit-learn leaves in a model, with which ``partial_fit`` goes on."""
        moments = split(self._first[row]), split(self._second[row])
        return make_adam(self._rate, self._betas, self._epsilon, moments, int(self._steps[row]))

    def _corrected_rate(self, rows, dtype):
        beta_1, beta_2 = self._betas
        self._steps[rows] += 1
        # Python's power, model by model: numpy's power differs in the last bit.
        rates = [
            self._rate * np.sqrt(1 - beta_2 ** int(t)) / (1 - beta_1 ** int(t))
            for t in self._steps[rows]
        ]
        return np.array(rates, dtype=dtype)[:, None]


class Momentum:
    """Gradient descent with momentum, Nesterov's or not, at a constant rate.

    Parameters
    ----------
    model : MLPClassifier or MLPRegressor
        Its settings are read.
    parameters : ndarray of shape (k, p)
        Of all models, changed in place.
    """

    def __init__(self, model, parameters):
        self._rate, self._momentum = float(model.learning_rate_init), model.momentum
        self._nesterov, self._power = model.nesterovs_momentum, model.power_t
        self._velocity = np.zeros_like(parameters)

    def arrays(self):
        """What it keeps of each model."""
        return (self._velocity,)

    def keep(self, rows):
        """Go on with some of the models."""
        self._velocity = self._velocity[rows]

    def export(self, row, split):
        """The optimizer that scikit-learn leaves in a model, with which ``partial_fit`` goes on."""
        settings = self._rate, self._momentum, self._nesterov, self._power
        return make_sgd(*settings, split(self._velocity[row]))

    def step(self, rows, parameters, gradient):
        """Change the parameters of a slice of the models; the gradient is used up."""
        velocity = self._velocity[rows]
        gradient *= self._rate
        velocity *= self._momentum
        velocity -= gradient
        if not self._nesterov:
            parameters += velocity
            return
        np.subtract(self._momentum * velocity, gradient, out=gradient)
        parameters += gradient


def make_optimizer(model, parameters):
    """The optimizer that a model asks for."""
    return (Adam if model.solver == "adam" else Momentum)(model, parameters)
