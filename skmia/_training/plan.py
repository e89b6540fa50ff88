"""The plan of a training: how and where the models of a job are trained."""

import logging
import warnings
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from .._core.caches import clone_to_train
from .._core.callers import level_of_user
from .._core.containers import take_rows
from .._core.copies import copy_unfitted
from .._core.error_hints import get_advice
from .._core.kinds import is_regressor
from .._core.randomness import PROCESS_LOCK, isolated_randomness, seed_estimator
from .._core.skorch_nets import gives_logits, why_not_loader, why_not_probabilities
from ..exceptions import JointTrainingWarning
from .backends.backend import OneByOneWay, TrainingBackend
from .backends.linear import LinearWay
from .backends.perceptron import PerceptronWay
from .backends.torch_nets import TorchNetsWay
from .backends.torch_nets.plan import find_net
from .job import count_failures, settle_targets
from .workers import TaskWorkers, get_workers


@contextmanager
def saying_what_is_kept(checkpoint, n_models):
    """Add to a KeyboardInterrupt a note on what has been kept."""
    try:
        yield
    except KeyboardInterrupt as error:
        kept = None if checkpoint is None else checkpoint.describe_kept(n_models)
        if kept is not None:
            error.add_note(kept)
        raise


def run_or_resume(plan, job, checkpoint):
    """Train the models of a job, except for those that a checkpoint holds."""
    missing = list(range(job.n_models))
    if checkpoint is None:
        yield from plan.way.run(job, missing, plan.where)
        return
    job = job._replace(states=checkpoint.states(), write=checkpoint.writer())
    # Each round collects the models that any process has finished meanwhile and trains the rest. A
    # damaged file is renamed by `load`, so its model is still missing and is trained in this round.
    while missing:
        for k in missing.copy():
            kept = checkpoint.load(k, job.subsets[k] if job.write is None else None)
            if kept is not None:
                missing.remove(k)
                yield k, kept
        models = checkpoint.unfinished(missing.copy())
        for k, kept in plan.way.run(job, models, plan.where):
            if job.write is None:
                checkpoint.save(k, kept, job.subsets[k])
            else:
                kept = checkpoint.load_written(k)
            if k in missing:
                missing.remove(k)
            yield k, kept
    checkpoint.close()


def check_first_answers(job):
    """Query a net with initial weights for two records, and refuse what no training can change.

    Whether the outputs of a net are probabilities, and whether it accepts records of their type,
    depends on its settings and not on its weights. The check saves the time of training many nets
    that cannot be used.
    """
    net = find_net(job.estimator)
    # A net with its own predict_proba may need its training to predict.
    if net is None or not type(net).predict_proba.__module__.startswith("skorch."):
        return
    members = np.flatnonzero(job.subsets[0])
    rows, y = take_rows(job.data.tables[0], members), job.data.take_targets(members)
    with isolated_randomness(job.seeds[0]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model, net, X = _initialize_job_net(job, rows, y)
        except Exception:  # the training raises it again, with its own message
            return
        refusal = _why_no_outputs(model, net, X, rows)
    if refusal:
        raise ValueError(refusal)


def _initialize_job_net(job, rows, y):
    from .backends.torch_nets.prepare import fit_transformers

    model = copy_unfitted(job.estimator)
    seed_estimator(model, job.seeds[0])
    net, X = fit_transformers(model, rows, y)
    net.initialize()
    net.check_data(X, y)
    return model, net, take_rows(X, slice(2))


def _why_no_outputs(model, net, X, rows):
    """Return the reason why the outputs of a net cannot be used, or None."""
    try:
        if gives_logits(net):  # they are read without the function that makes probabilities
            net.forward(X)
            return None
        answers = np.asarray(net.predict_proba(X))
    except Exception as error:
        return get_advice(error, model, rows)
    return None if is_regressor(net) else why_not_probabilities(net, answers)


_logger = logging.getLogger("skmia")


class TrainingPlan(NamedTuple):
    """How and where models are trained; it holds for all jobs of the same kind."""

    way: TrainingBackend
    where: TaskWorkers
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
        """Train the models of a job, except for those that a checkpoint holds."""
        job = settle_targets(job._replace(estimator=clone_to_train(job.estimator)))
        return run_or_resume(self, job, checkpoint)


def plan_training(job, batched="auto", exact=False, known=None):
    """Choose the fastest way to train the models of a job.

    To find out, two models are trained for a few steps, and where it depends on the machine whether
    joint training takes less time, a few steps of some models are timed.
    """
    job = settle_targets(job._replace(estimator=clone_to_train(job.estimator)))
    _check_loader(job)
    where = get_workers()
    decided = batched is True or (known or "").startswith(TorchNetsWay.name)
    ways = [LinearWay(), PerceptronWay(), TorchNetsWay(decided=decided)] if batched else []
    ways = [way for way in ways if way.exact or not exact]
    reasons = []
    for way in ways:
        refusal = _why_not_together(way, job)
        if refusal is None:
            if exact:
                check_first_answers(job)
            way = way.chosen(job, known, forced=batched is True)
            refusal = way.slower
        if refusal is None:
            reason = "it trains many of these models at once"
            return _log(TrainingPlan(way, where, f"{reason}; {way.note}" if way.note else reason))
        reasons.append(f"{way.name}: {refusal}")
        if way.is_meant_for(job.estimator):
            reasons = [refusal]  # what the other ways are for is of no interest here
            break
    if batched is True:
        raise ValueError(f"batched=True is not possible here; {'; '.join(reasons)}")
    if not exact and job.data.weights is None and job.data.fit_params is None:
        _warn_of_near_misses(ways, job)
    reason = "; ".join(reasons) or "batched=False"
    if where.name != "joblib":
        reason = f"joblib has been told to use {where.name}"
    return _log(TrainingPlan(OneByOneWay(), where, reason))


def _check_loader(job):
    """Refuse a net whose loader would show the models of a job no batch."""
    net = find_net(job.estimator) if job.fit is None else None
    refusal = None if net is None else why_not_loader(net, int(job.subsets[0].sum()))
    if refusal:
        raise ValueError(refusal)


def _why_not_together(way, job):
    if job.fit is not None or job.seeds is None:
        return "The models are not trained by their own fit with seeds of ours."
    if job.data.weights is not None:
        return "Models with sample weights are trained one by one."
    if job.data.fit_params is not None:
        return "Models with fit_params are trained one by one."
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
            stacklevel=level_of_user(),
        )


def describe_training(plan, caught, n_models):
    """Describe how the models of a job were actually trained, and why."""
    why, n_alone = count_failures(caught)
    if not n_alone:
        return plan.name, plan.reason
    if n_alone == n_models:
        return plan.where.name, why
    some = f"{n_alone} of {n_models} models were trained one by one: {why}"
    return plan.name, f"{plan.reason}; {some}"
