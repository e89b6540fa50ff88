"""Logarithms of the probabilities that a model gives to all labels, for any kind of classifier."""

import numpy as np
from scipy.special import log_softmax

from .outputs import Outputs

# Logarithm of what is smaller than any difference between floats next to 1.
_LEAST = float(np.log(np.finfo(np.float64).eps))


def log_label_scores(outputs: Outputs, resolution: float = 0.0) -> np.ndarray:
    """Return the logarithm of the probability of each class.

    Parameters
    ----------
    outputs : Outputs
        Of a classifier: probabilities, logits, decision values, or labels.
    resolution : float, default=0.0
        Finest step of the probabilities; half of it is added to each.

    Returns
    -------
    scores : ndarray of shape (n, n_classes)
        Finite values in nats. Decision values are read as logits, and a predicted label as a
        probability of 1.

    Raises
    ------
    ValueError
        If the outputs do not tell the classes apart, as log odds or values of a regressor.
    """
    if outputs.classes is None:
        raise ValueError(
            "Labels are inferred from probabilities, decision values or predicted labels; got "
            f"outputs of kind {outputs.kind!r}."
        )
    if outputs.kind in ("logits", "decision"):
        return np.maximum(log_softmax(outputs.values.astype(np.float64), axis=1), _LEAST)
    values = outputs.values
    if outputs.kind == "label":
        values = np.eye(len(outputs.classes))[outputs.label_index(values)]
    values = values.astype(np.float64) + resolution / 2
    return np.log(np.maximum(values / values.sum(axis=1, keepdims=True), np.exp(_LEAST)))
