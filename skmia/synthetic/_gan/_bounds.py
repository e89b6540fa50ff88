"""Bounds of the gradient of a critic for all rows of [0, 1]^d."""

import numpy as np

# Share by which an interval is widened: far more than rounding can move a number of 64 bits.
SLACK = 1e-9


def gradient_bounds(weights, biases, negative_slope):
    """Bounds of the gradient of a critic's answer to one row, by interval propagation.

    They hold for every row of [0, 1]^d. With one hidden layer every bound is attained by some row;
    with more they are wider than need be, because intervals forget that units depend on each other.

    Parameters
    ----------
    weights : list of ndarray of shape (n_out, n_in)
        Of each layer. The last one has one unit and nothing after it, the others a leaky ReLU.
    biases : list of ndarray of shape (n_out,)
        Of each layer but the last, which has none.
    negative_slope : float
        Negative slope, in [0, 1]; 0 is a ReLU.

    Returns
    -------
    bounds : list of pairs of ndarray
        Lower and upper ends for each parameter, in the order weight, bias, weight, bias, ...,
        weight and in the shapes given.
    """
    inputs, slopes, reach = _forward(weights, biases, negative_slope)
    bounds = [tuple(end[None] for end in inputs[-1])]
    above = (weights[-1][0], weights[-1][0])  # of the gradient with respect to a layer's output
    for layer in range(len(weights) - 2, -1, -1):
        bias = _multiply(slopes[layer], above)
        if layer:
            weight = _multiply([end[None] for end in inputs[layer]], [end[:, None] for end in bias])
            above = _linear(weights[layer].T, bias)
        else:
            weight = _first_weight(weights[0], reach, negative_slope, above)
        bounds[:0] = [weight, bias]
    return [_widen(low, high, np.maximum(abs(low), abs(high))) for low, high in bounds]


def _forward(weights, biases, negative_slope):
    """Intervals of what enters each layer and of the slopes there; upper ends of the first sums."""
    inputs = [(np.zeros(weights[0].shape[1]), np.ones(weights[0].shape[1]))]
    slopes, reach = [], None
    for weight, bias in zip(weights[:-1], biases, strict=True):
        low, high = _linear(weight, inputs[-1])
        size = abs(weight) @ np.maximum(*np.abs(inputs[-1])) + abs(bias)
        low, high = _widen(low + bias, high + bias, size)
        reach = high if reach is None else reach
        # A slope of 1 for sure only where the sum is above 0: at 0 it is the other one.
        slopes.append(tuple(np.where(end > 0, 1.0, negative_slope) for end in (low, high)))
        inputs.append(tuple(np.where(end > 0, end, negative_slope * end) for end in (low, high)))
    return inputs, slopes, reach


def _first_weight(weight, reach, negative_slope, above):
    """Bounds for the first weights: a value in [0, 1] times a slope, times the gradient above."""
    # The value and the slope are not free of each other. Where a weight is negative, the sum stays
    # above 0 only as long as the value is below reach / -weight.
    with np.errstate(divide="ignore", over="ignore"):
        free = np.where(weight < 0, reach[:, None] / np.maximum(-weight, 0), 1.0)
    most = np.where(reach[:, None] > 0, np.clip(free, negative_slope, 1), negative_slope)
    low, high = (end[:, None] for end in above)
    return most * np.minimum(low, 0), most * np.maximum(high, 0)


def _linear(weight, interval):
    """Interval of ``weight @ x`` for x in an interval."""
    low, high = interval
    positive, negative = np.maximum(weight, 0), np.minimum(weight, 0)
    return positive @ low + negative @ high, positive @ high + negative @ low


def _multiply(first, second):
    """Interval of the product of numbers in two intervals."""
    products = [factor * other for factor in first for other in second]
    return np.minimum.reduce(products), np.maximum.reduce(products)


def _widen(low, high, size):
    return low - SLACK * size, high + SLACK * size
