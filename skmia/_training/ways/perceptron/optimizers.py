"""Optimizers of scikit-learn's perceptrons for many models at once.

They perform the operations of ``sklearn.neural_network._stochastic_optimizers`` in the same order,
so that results are rounded in the same way, but they allocate no new arrays.
"""

import numpy as np

from ...._core.sklearn import make_adam, make_sgd


class Adam:
    """Adam, with the bias correction in the learning rate.

    Parameters
    ----------
    model : MLPClassifier or MLPRegressor
        Model with the settings of the optimizer.
    parameters : ndarray of shape (k, p)
        Parameters of all models, which are changed in place.
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


class Momentum:
    """Gradient descent with momentum, Nesterov's or not, at a constant rate.

    Parameters
    ----------
    model : MLPClassifier or MLPRegressor
        Model with the settings of the optimizer.
    parameters : ndarray of shape (k, p)
        Parameters of all models, which are changed in place.
    """

    def __init__(self, model, parameters):
        self._rate, self._momentum = float(model.learning_rate_init), model.momentum
        self._nesterov, self._power = model.nesterovs_momentum, model.power_t
        self._velocity = np.zeros_like(parameters)

    def arrays(self):
        """Return the arrays of the state, with one row per model."""
        return (self._velocity,)

    def keep(self, rows):
        """Keep only some of the models."""
        self._velocity = self._velocity[rows]

    def export(self, row, split):
        """Return the optimizer that scikit-learn stores in a model for ``partial_fit``."""
        settings = self._rate, self._momentum, self._nesterov, self._power
        return make_sgd(*settings, split(self._velocity[row]))

    def step(self, rows, parameters, gradient):
        """Update the parameters of a slice of the models; the gradient is overwritten."""
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
    """Return the optimizer of a model."""
    return (Adam if model.solver == "adam" else Momentum)(model, parameters)
