"""What the code published with LiRA computes, with medians, written out from its formulas.

    from published.lira import published_scores

    scores = pool.signals_[0].transpose(1, 2, 0)  # of a ShadowPool, by model, record and query
    found = -published_scores(scores, pool.membership_, target, fix_variance=False, online=True)

``target`` holds the log odds of the victim, of shape (records, queries). ``LiRA`` has no parameter
for this: means have less noise than medians, and tests hold it equal where both formulas agree.
"""

import numpy as np
from scipy.stats import norm


def published_scores(scores, keep, target, fix_variance, online):
    """Scores as published, where a low number is a member.

    The first IN and OUT scores of each record, as many as the record with the fewest has; their
    medians; the standard deviation of each record and query, or of all IN scores for both sides
    (offline: of all OUT scores); minus the log ratio averaged over queries. Offline it is the log
    density under OUT, which is two-sided.

    Parameters
    ----------
    scores : ndarray of shape (n_models, n, n_queries)
        Scaled logits of the shadow models.
    keep : ndarray of shape (n_models, n), dtype bool
        Their training sets.
    target : ndarray of shape (n, n_queries)
        Scaled logits of the victim.
    fix_variance : bool
        Whether one variance is used for all records.
    online : bool
        Whether the IN models are used.
    """
    n_records = scores.shape[1]
    into = [scores[keep[:, j], j, :] for j in range(n_records)]
    out = [scores[~keep[:, j], j, :] for j in range(n_records)]
    n_in, n_out = min(map(len, into)), min(map(len, out))
    into = np.array([rows[:n_in] for rows in into])
    out = np.array([rows[:n_out] for rows in out])
    if fix_variance:
        std_in = std_out = np.std(into if online else out)
    else:
        std_in, std_out = np.std(into, 1) if online else None, np.std(out, 1)
    log_out = norm.logpdf(target, np.median(out, 1), std_out + 1e-30)
    if not online:
        return log_out.mean(1)
    log_in = norm.logpdf(target, np.median(into, 1), std_in + 1e-30)
    return (-log_in + log_out).mean(1)
