"""Which candidate is which training row, from the samples in which each row was drawn."""

import numpy as np
from scipy.special import expit, logit

from ._pass_messages import DAMPING, compute_messages

_N_ROUNDS = 6
_N_SCALINGS = 50
# Least share of training rows that are taken to be none of the candidates.
_LEAST_UNUSED = 0.5
_LEAST_SHARE = 1e-12


def locate(groups, drawn, n_candidates, prior, outsiders):
    """Probability that each candidate is each training row.

    What the thresholds of one tree say of a candidate belongs to the sample of this tree: they
    speak for the rows that it has drawn. In further rounds the probabilities tell in turn which
    candidates are in the sample.

    Parameters
    ----------
    groups : list of Events
        Each of one tree.
    drawn : ndarray of shape (n_trees, n_rows), dtype bool
        Whether each row is in the sample of each tree.
    n_candidates : int
    prior : float
        Share of members among the candidates.
    outsiders : float
        Share of the training rows that are not among the candidates.

    Returns
    -------
    proba : ndarray of shape (n_candidates, n_rows), dtype float32
        The rest of each row to 1 is the probability that the candidate is none of the training
        rows, or that the samples do not tell which one.
    """
    drawn = drawn.astype(np.float32)
    for group in groups:
        if group.kept == 1:  # moved thresholds speak of all training rows
            drawn[group.sample] = 1
    messages = [np.zeros(len(group.candidates)) for group in groups]
    parts = np.zeros((n_candidates, len(drawn)))
    others = prior * outsiders / (1 - outsiders)
    for n_done in range(_N_ROUNDS):
        odds = _compute_odds(parts, drawn, prior, outsiders)
        for g, group in enumerate(groups):
            there = odds[group.candidates, group.sample] - messages[g]
            old = DAMPING if n_done else 0.0
            new = compute_messages(group, there, others)
            messages[g] = (1 - old) * new + old * messages[g]
            parts[:, group.sample] = np.bincount(group.candidates, messages[g], n_candidates)
    return _match(parts, drawn, prior, outsiders)[0]


def _compute_odds(parts, drawn, prior, outsiders):
    """Log odds of each candidate to be in each sample."""
    proba, untold = _match(parts, drawn, prior, outsiders)
    share = (proba @ drawn.T).astype(np.float64)
    with np.errstate(divide="ignore"):
        share += untold[:, None] * expit(parts + logit(drawn.mean(axis=1)))
    return logit(np.clip(share, _LEAST_SHARE, 1 - _LEAST_SHARE))


def _match(parts, drawn, prior, outsiders):
    """Probability that each candidate is each row, and that it is a member in some other way.

    A row is used at most once. What is said of a candidate may have nothing to do with the samples
    that were drawn, because it was computed from other people with equal values. Without this
    explanation, the row whose samples agree best by chance would be taken for the right one.
    """
    kept, n_rows, odds = drawn.mean(axis=1), drawn.shape[1], prior / (1 - prior)
    ratios = parts.astype(np.float32) @ drawn
    with np.errstate(divide="ignore"):
        other = np.logaddexp(np.log(kept) + parts, np.log1p(-kept)).sum(axis=1)
    most = np.maximum(np.maximum(ratios.max(axis=1), other), 0).astype(np.float32)
    weights, untold = np.exp(ratios - most[:, None]), odds * np.exp(other - most)
    rest = (np.exp(-most) + untold).astype(np.float32)
    unused = np.float32(max(outsiders, _LEAST_UNUSED) * n_rows / odds)
    scale = np.full(n_rows, odds / n_rows, dtype=np.float32)
    for _ in range(_N_SCALINGS):
        scale = 1 / ((1 / (rest + weights @ scale)) @ weights + unused)
    shares = weights * scale
    total = rest + shares.sum(axis=1)
    return shares / total[:, None], untold / total
