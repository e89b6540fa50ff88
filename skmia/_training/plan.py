"""The plan of a training: how and where the models of a job are trained."""

import logging
import warnings
from typing import NamedTuple

from .._core.caches import clone_to_train
from .._core.randomness import PROCESS_LOCK
from ..exceptions import JointTrainingWarning
from .first_answers import check_first_answers
from .notes import count_failures
from .resume import run_or_resume
from .ways.linear import LinearWay
from .ways.one_by_one import OneByOneWay
from .ways.perceptron import PerceptronWay
from .ways.torch_nets import TorchNetsWay
from .ways.way import Way
from .where.dask import DaskWorkers
from .where.joblib import JoblibWorkers, Workers
from .where.ray import RayWorkers

_logger = logging.getLogger("skmia")


class Plan(NamedTuple):
    """How and where models are trained; it holds for all jobs of the same kind."""

    way: Way
    where: Workers
    reason: str  # why this way was chosen

    @property
    def together(self):
        """Whether many models are trained in one program."""
        return self.way.together

    @property
    def name(self):
        """Name of the way, or of the workers if models are trained one by one."""
        return self.way.name if self.together else self.where.name

    @property
    def numbers(self):
        """Name that is equal for plans with bitwise the same results, wherever they run."""
        return self.way.numbers

    def run(self, job, checkpoint=None):
        """Train the models of a job, except for those that a checkpoint holds.

        Parameters
        ----------
        job : Job
            Job of the plan, or a job of the same kind with other subsets.
        checkpoint : FolderCheckpoint or MemoryCheckpoint, default=None
            Open checkpoint.

        Yields
        ------
        k, kept : int, Kept
            Number and results of each model, in any order. If a model appears twice, the last
            result counts.
        """
        job = job._replace(estimator=clone_to_train(job.estimator))
        return run_or_resume(self, job, checkpoint)


def plan_training(job, batched="auto", exact=False, known=None):
    """Choose the fastest way to train the models of a job.

    To find out, two models are trained for a few steps, and where it depends on the machine whether
    joint training takes less time, a few steps of some models are timed.

    Parameters
    ----------
    job : Job
        Job with at least two models.
    batched : "auto" or bool, default="auto"
        Whether many models may, or must, be trained in one program.
    exact : bool, default=False
        Whether the models must equal those trained one by one. The joint solvers of linear models,
        for example, come closer to the optimum than the estimator does.
    known : str, default=None
        Attribute ``numbers`` of the plan by which some of the models were trained before.

    Returns
    -------
    plan : Plan

    Raises
    ------
    ValueError
        If ``batched=True`` and no way can train the models together, or if ``exact`` and the
        outputs of nets that can be trained together cannot be used.
    """
    job = job._replace(estimator=clone_to_train(job.estimator))
    where = next(
        workers
        for workers in (DaskWorkers(), RayWorkers(), JoblibWorkers())
        if workers.are_active()
    )
    decided = batched is True or (known or "").startswith(TorchNetsWay.name)
    ways = [LinearWay(), PerceptronWay(), TorchNetsWay(decided=decided)] if batched else []
    ways = [way for way in ways if way.exact or not exact]
    reasons = []
    for way in ways:
        refusal = _why_not(way, job)
        if refusal is None:
            if exact:
                check_first_answers(job)
            way = way.chosen(job, known, forced=batched is True)
            refusal = way.slower
        if refusal is None:
            way = way if exact else way.tuned(job, known)
            reason = "it trains many of these models at once"
            return _log(Plan(way, where, f"{reason}; {way.note}" if way.note else reason))
        reasons.append(f"{way.name}: {refusal}")
        if way.is_meant_for(job.estimator):
            reasons = [refusal]  # what the other ways are for is of no interest here
            break
    if batched is True:
        raise ValueError(f"batched=True is not possible here; {'; '.join(reasons)}")
    if not exact and job.data.weights is None:
        _warn_of_near_misses(ways, job)
    reason = "; ".join(reasons) or "batched=False"
    if where.name != "joblib":
        reason = f"joblib has been told to use {where.name}"
    return _log(Plan(OneByOneWay(), where, reason))


def _why_not(way, job):
    if job.fit is not None or job.seeds is None:
        return "The models are not trained by their own fit with seeds of ours."
    if job.data.weights is not None:
        return "The records have sample weights, which each model is fitted with by itself."
    with PROCESS_LOCK:  # it may train models and trace nets
        return way.why_not(job)


def _log(plan):
    _logger.debug("models are trained by the way %s: %s", plan.name, plan.reason)
    return plan


def _warn_of_near_misses(ways, job):
    """Tell users what to change about an estimator so that many models are trained at once."""
    for reason in filter(None, (way.nearly(job) for way in ways)):
        warnings.warn(
            f"Models are trained one by one, which can take tens of times as long: {reason} "
            "ShadowPool(batched=False) does so without this warning.",
            JointTrainingWarning,
            stacklevel=4,
        )


def describe_training(plan, caught, n_models):
    """Describe how the models of a job were actually trained, and why.

    Parameters
    ----------
    plan : Plan
        Plan before the training.
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
        return plan.name, plan.reason
    if n_alone == n_models:
        return plan.where.name, why
    some = f"{n_alone} of {n_models} models were trained one by one: {why}"
    return plan.name, f"{plan.reason}; {some}"
