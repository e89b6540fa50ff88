"""Bounds of the gradient of a critic for all rows of a layout of columns."""

import numpy as np

# Share by which an interval is widened: far more than rounding can move a number of 64 bits.
SLACK = 1e-9


def gradient_bounds(weights, biases, negative_slope, sizes=None):
    """Bounds of the gradient of a critic's answer to one row, by interval propagation.

    They hold for every row: numbers in [0, 1], and blocks with a single 1. With one hidden layer
    every bound is attained by some row; with more they are wider than need be, because intervals
    forget that units depend on each other.

    A block of a row adds one of its weights to a sum of the first layer, so that it reaches from
    the smallest to the largest of them; their number plays no part.

    Parameters
    ----------
    weights : list of ndarray of shape (n_out, n_in)
        Of each layer. The last one has one unit and nothing after it, the others a leaky ReLU.
    biases : list of ndarray of shape (n_out,)
        Of each layer but the last, which has none.
    negative_slope : float
        Negative slope, in [0, 1]; 0 is a ReLU.
    sizes : sequence of int, default=None
        Number of inputs of each column; 1 is a number, more are a block. If None, all are numbers.

    Returns
    -------
    bounds : list of pairs of ndarray
        Lower and upper ends for each parameter, in the order weight, bias, weight, bias, ...,
        weight and in the shapes given.
    """
    sizes = np.ones(weights[0].shape[1], int) if sizes is None else np.asarray(sizes)
    first = _FirstLayer(weights[0], biases[0], sizes)
    inputs, slopes = _forward(first, weights, biases, negative_slope)
    bounds = [tuple(end[None] for end in inputs[-1])]
    above = (weights[-1][0], weights[-1][0])  # of the gradient with respect to a layer's output
    for layer in range(len(weights) - 2, -1, -1):
        bias = _multiply(slopes[layer], above)
        if layer:
            weight = _multiply([end[None] for end in inputs[layer]], [end[:, None] for end in bias])
            above = _linear(weights[layer].T, bias)
        else:
            weight = first.bound(negative_slope, above)
        bounds[:0] = [weight, bias]
    return [_widen(low, high, np.maximum(abs(low), abs(high))) for low, high in bounds]


class _FirstLayer:
    """Sums of the first layer over the columns of a row."""

    def __init__(self, weight, bias, sizes):
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self.weight, self.is_number = weight, sizes == 1
        # What each column adds to a sum. A number may be 0; of a block, one place is 1.
        lowest, highest = (end.reduceat(weight, starts, axis=1) for end in (np.minimum, np.maximum))
        lowest = np.where(self.is_number, np.minimum(lowest, 0), lowest)
        highest = np.where(self.is_number, np.maximum(highest, 0), highest)
        size = np.maximum(abs(lowest), abs(highest)).sum(axis=1) + abs(bias)
        ends = lowest.sum(axis=1) + bias, highest.sum(axis=1) + bias
        self.low, self.high = _widen(*ends, size)
        # For each weight, the largest sum in which it takes part.
        self.with_place = self.high[:, None] - np.repeat(highest, sizes, axis=1) + weight
        self.is_in_block = np.repeat(~self.is_number, sizes)

    def bound(self, negative_slope, above):
        """Bounds for the weights: an input in [0, 1] times a slope, times the gradient above."""
        # The input and the slope are not free of each other. Where the weight of a number is
        # negative, the sum stays above 0 only as long as the number is below high / -weight.
        high = self.high[:, None]
        with np.errstate(divide="ignore", over="ignore"):
            free = np.where(self.weight < 0, high / np.maximum(-self.weight, 0), 1.0)
        most = np.where(high > 0, np.clip(free, negative_slope, 1), negative_slope)
        # In a block the input is 1 or there is no gradient.
        in_block = np.where(self.with_place > 0, 1.0, negative_slope)
        most = np.where(self.is_in_block, in_block, most)
        low, high = (end[:, None] for end in above)
        return most * np.minimum(low, 0), most * np.maximum(high, 0)


def _forward(first, weights, biases, negative_slope):
    """Intervals of what enters each layer but the first, and of the slopes there."""
    inputs, slopes = [None], []
    ends = first.low, first.high
    for layer in range(len(biases)):
        if layer:
            weight, bias = weights[layer], biases[layer]
            low, high = _linear(weight, inputs[-1])
            size = abs(weight) @ np.maximum(*np.abs(inputs[-1])) + abs(bias)
            ends = _widen(low + bias, high + bias, size)
        # A slope of 1 for sure only where the sum is above 0: at 0 it is the other one.
        slopes.append(tuple(np.where(end > 0, 1.0, negative_slope) for end in ends))
        inputs.append(tuple(np.where(end > 0, end, negative_slope * end) for end in ends))
    return inputs, slopes


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
