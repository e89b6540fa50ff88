"""What a pool stores of each shadow model: one number per record, made fit for moments."""

from abc import ABC, abstractmethod

import numpy as np

from .._core.numbers import as_numbers

# Share of the typical residual below which differences tell nothing more.
_SHARE = 0.1
_SMALLEST_RESIDUAL = 1e-12


def log_sigmoid(z):
    """Logarithm of 1 / (1 + exp(-z)), exact at both ends."""
    return -np.logaddexp(0, -z)


# Whole pools are gone through row by row: what is as large as they are takes memory as they do.
def _rows(raw):
    return raw.reshape(-1, raw.shape[-1])


def _largest_finite(raw):
    return max(float(np.abs(row[np.isfinite(row)]).max(initial=0.0)) for row in _rows(raw))


class Evidence(ABC):
    """Evidence of one kind of victim.

    Attributes
    ----------
    name : str
        As shown in ``ShadowPool.signal_``.
    reads : tuple of str
        Kinds of outputs that it is computed from.
    has_temperature : bool
        Whether logits can be divided by a temperature before it is computed.
    takes_resolution : bool
        Whether a resolution is a setting of the user, in the unit of the models' answers.
    """

    name: str
    reads: tuple
    has_temperature = False
    takes_resolution = True

    @abstractmethod
    def compute(self, outputs, y, temperature, step):
        """Raw evidence of each record, which may be infinite.

        ``step`` is the finest step of the model's probabilities, 0 where none is 0 or 1.
        """

    def find_resolution(self, raw, dtype, inside):
        """Finest step that the models' answers show, 0 where nothing needs smoothing.

        ``raw`` holds evidence of any shape with records last; ``inside`` of shape
        (n_estimators, n) tells which models were trained on which records.
        """
        finite = all(np.isfinite(row).all() for row in _rows(raw))
        return 0.0 if finite else self.find_step(raw, dtype)

    @abstractmethod
    def find_step(self, raw, dtype):
        """Step with which an infinite value is smoothed next to this evidence."""

    @abstractmethod
    def smooth(self, raw, resolution):
        """Evidence that is finite: answers of exactly 0 or 1 moved inside by half a step."""

    @abstractmethod
    def log_likelihood(self, evidence, scale):
        """Log-probability that the model gives to the label, in nats, up to a constant."""

    def likelihood(self, evidence, scale):
        """Exponential of the log-likelihood; 0 where it underflows."""
        return np.exp(self.log_likelihood(evidence, scale))


def sigmoid(z):
    """1 / (1 + exp(-z)); 0 where it underflows."""
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-z))


class ScaledLogit(Evidence):
    """Log odds of the label (classifiers with probabilities or logits)."""

    name = "scaled_logit"
    reads = ("proba", "logits")
    has_temperature = True

    def compute(self, outputs, y, temperature, step):
        # A tempered logit cannot be smoothed afterwards, so it is by the step of the model itself;
        # the other one is smoothed once the step of the whole pool is known.
        return outputs.scaled_logit(y, temperature, step if temperature != 1 else 0.0)

    def find_step(self, raw, dtype):
        # 1 / (1 + exp(|z|)) is the smaller of p_y and 1 - p_y. Below the spacing of floats next to
        # 1 one side can still be distinguished from its bound and the other cannot.
        largest = _largest_finite(raw)
        spacing = np.finfo(dtype).eps if np.issubdtype(dtype, np.floating) else np.finfo(float).eps
        return float(max(np.exp(-np.logaddexp(0, largest)), spacing))

    def smooth(self, raw, resolution):
        if resolution == 0:
            return raw
        half = raw.dtype.type(resolution / 2)
        with np.errstate(over="ignore"):
            p, q = 1 / (1 + np.exp(-raw)), 1 / (1 + np.exp(raw))
        return np.log(p + half) - np.log(q + half)

    def log_likelihood(self, evidence, scale):
        return log_sigmoid(evidence)

    def likelihood(self, evidence, scale):
        return sigmoid(evidence)


class Margin(Evidence):
    """Decision value of the label minus the best other one (classifiers without probabilities)."""

    name = "hinge"
    reads = ("decision",)
    takes_resolution = False

    def compute(self, outputs, y, temperature, step):
        return outputs.margin(y)

    def find_step(self, raw, dtype):
        # Only the missing classes of a half are infinite: such a model is as sure as any model is.
        return _largest_finite(raw)

    def smooth(self, raw, resolution):
        return raw if resolution == 0 else np.clip(raw, -resolution, resolution)

    def log_likelihood(self, evidence, scale):
        return log_sigmoid(evidence)

    def likelihood(self, evidence, scale):
        return sigmoid(evidence)


class LogResidual(Evidence):
    """Minus the logarithm of the absolute residual (regressors)."""

    name = "log_residual"
    reads = ("value",)

    def compute(self, outputs, y, temperature, step):
        with np.errstate(divide="ignore"):
            truth = as_numbers(y, "y", "numbers, as the answers of a regressor are")
            return -np.log(np.abs(truth - outputs.values))

    def find_step(self, raw, dtype):
        return _SMALLEST_RESIDUAL

    def find_resolution(self, raw, dtype, inside):
        # Trees and interpolating models leave their training records no residual at all, which
        # would rule every moment: the scale is that of records that a model has not seen.
        outside = np.empty(inside.size - np.count_nonzero(inside), raw.dtype)
        stop = 0
        for row, members in zip(raw[0], inside, strict=True):
            start, stop = stop, stop + len(row) - np.count_nonzero(members)
            outside[start:stop] = row[~members]
        # The middle of the residuals is that of their logarithms, both of them for an even number.
        middle = [(len(outside) - 1) // 2, len(outside) // 2]
        outside.partition(middle)
        typical = np.exp(-outside[middle].astype(np.float64)).mean()
        return max(_SHARE * float(typical), _SMALLEST_RESIDUAL)

    def smooth(self, raw, resolution):
        if resolution == 0:
            return raw
        return -0.5 * np.logaddexp(-2 * raw, raw.dtype.type(2 * np.log(resolution)))

    def log_likelihood(self, evidence, scale):
        return -0.5 * np.exp(-2 * evidence) / scale**2


_KINDS = (ScaledLogit(), Margin(), LogResidual())

# Kinds of outputs that shadow models can be compared by.
COMPARED = frozenset(kind for evidence in _KINDS for kind in evidence.reads)


def evidence_named(name):
    """Evidence by its name."""
    return next(evidence for evidence in _KINDS if evidence.name == name)


def reads_of(name):
    """Kinds of outputs that evidence of a name is computed from; none for an unknown name."""
    return frozenset(kind for one in _KINDS if one.name == name for kind in one.reads)


def evidence_of(kind):
    """Evidence that can be computed from one kind of outputs.

    Raises
    ------
    ValueError
        When there is none: a predicted label is too little for the statistics of shadow models.
    """
    for evidence in _KINDS:
        if kind in evidence.reads:
            return evidence
    raise ValueError(
        "Shadow models need predict_proba or decision_function, or must be regressors; "
        "the estimator has only predict."
    )
