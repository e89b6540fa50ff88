"""Jobs of the training engine as a pool makes them, and what comes of them, in plain attributes."""

from types import SimpleNamespace

import numpy as np

from skmia._training.backends.backend import OneByOneWay
from skmia._training.backends.linear import LinearWay
from skmia._training.backends.perceptron import PerceptronWay
from skmia._training.backends.torch_nets import TorchNetsWay
from skmia._training.job import Job, JobData
from skmia._training.workers import JoblibWorkers
from skmia.shadow._job import PoolKeeper


def make_job(
    estimator, tables, y, subsets, *, seed=0, store="models", temperatures=(1.0, 2.0), n_jobs=None
):
    """A job whose models are kept as a pool keeps them."""
    seeds = np.random.SeedSequence(seed).spawn(len(subsets))
    keep = PoolKeeper(("auto",), temperatures, "auto", store)
    return Job(estimator, JobData(list(tables), y), subsets, seeds, keep, n_jobs)


def run(way, job, models=None):
    """What is kept of each model, by its number; in the order in which they were asked for."""
    models = range(job.n_models) if models is None else models
    kept = {k: look_at(one) for k, one in way.run(job, models, JoblibWorkers())}
    return {k: kept[k] for k in models}


def run_alone(job, models=None):
    """The same of models that are trained one by one."""
    return run(OneByOneWay(), job, models)


def train_one_by_one(monkeypatch):
    """Let no models be trained together."""
    for way in (LinearWay, PerceptronWay, TorchNetsWay):
        monkeypatch.setattr(way, "why_not", lambda self, job: "The test wants it so.")


def look_at(kept):
    """Facts and arrays as attributes; ``outputs`` and ``classes`` are None where there are none."""
    named = {"outputs": None, "classes": None, **kept.facts, **kept.arrays}
    return SimpleNamespace(**named, model=kept.model, warnings=list(kept.warnings))
