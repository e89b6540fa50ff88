"""Which backend trains the models of a pool, and why."""

import logging
import warnings

from ..exceptions import JointTrainingWarning
from ._backends import JoblibBackend
from ._batched import BatchedTorchBackend
from ._dask import DaskBackend
from ._linear import LinearBackend
from ._notes import count_failures
from ._perceptron import PerceptronBackend
from ._ray import RayBackend
from ._seeding import PROCESS_LOCK

_logger = logging.getLogger("skmia")


def _batched_backends():
    return [LinearBackend(), PerceptronBackend(), BatchedTorchBackend()]


def choose_backend(job, batched):
    """The fastest backend that can do a job.

    Parameters
    ----------
    job : PoolJob
        The pool.
    batched : "auto" or bool
        Whether many models may, or must, be trained at once.

    Returns
    -------
    backend : Backend
        Ready to run.
    reason : str
        Why it was taken.

    Raises
    ------
    ValueError
        When ``batched=True`` and no batched backend can do the job.
    """
    reasons = []
    for backend in _batched_backends() if batched else []:
        with PROCESS_LOCK:  # it may train models and trace nets
            refusal = backend.why_not(job)
        if refusal is None:
            return _chosen(backend, "it trains many of these models at once")
        reasons.append(f"{backend.name}: {refusal}")
    if batched is True:
        raise ValueError(f"batched=True is not possible here; {'; '.join(reasons)}")
    _warn_of_near_misses(job, batched)
    for cluster in (DaskBackend(), RayBackend()):
        if cluster.why_not(job) is None:
            return _chosen(cluster, f"joblib has been told to use {cluster.name}")
    return _chosen(JoblibBackend(), "; ".join(reasons) or "batched=False")


def _chosen(backend, reason):
    _logger.debug("shadow models are trained by the %s backend: %s", backend.name, reason)
    return backend, reason


def _warn_of_near_misses(job, batched):
    """Say what a user could change about an estimator to have many models trained at once."""
    for backend in _batched_backends() if batched else []:
        reason = backend.nearly(job)
        if reason:
            warnings.warn(
                f"Models are trained one by one, which can take tens of times as long: {reason} "
                "ShadowPool(batched=False) does so without this warning.",
                JointTrainingWarning,
                stacklevel=4,
            )


def describe_training(name, reason, caught, n_models):
    """Which backend trained the models of a pool in the end, and why.

    Parameters
    ----------
    name, reason : str
        The backend that was chosen, and why.
    caught : list of (category, str)
        Warnings of all trainings.
    n_models : int
        Number of models.

    Returns
    -------
    name, reason : str
    """
    why, n_alone = count_failures(caught)
    if not n_alone:
        return name, reason
    if n_alone == n_models:
        return JoblibBackend.name, why
    return name, f"{reason}; {n_alone} of {n_models} models were trained one by one: {why}"
