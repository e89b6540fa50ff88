"""A probe of a few steps: which way to train many nets takes the least time here."""

import os
import warnings
from contextlib import contextmanager, suppress
from functools import partial
from tempfile import TemporaryDirectory
from time import perf_counter, thread_time
from typing import NamedTuple

import numpy as np
import torch
from joblib import effective_n_jobs

from ...._core.containers import take_rows
from ...._core.copies import copy_unfitted
from ...._core.randomness import preserved_randomness, seed_estimator
from .plan import find_net
from .prepare import fit_transformers, prepare_net, shared_table
from .train import NetTraining


def count_devices(device, n_jobs):
    """Return the number of devices that groups of nets are spread over; 0 on a CPU."""
    device = torch.device(device)
    if device.type != "cuda" or device.index is not None:
        return int(device.type != "cpu")
    return max(1, min(torch.cuda.device_count(), effective_n_jobs(n_jobs)))


@contextmanager
def spread_over_gpus(train, n_devices, use=torch.cuda.device):
    """Let a function that trains a group use a GPU that no other process of the same fit uses."""
    with TemporaryDirectory(prefix="skmia-") as folder:
        yield partial(_train_on_free_device, train, folder, n_devices, use)


def _train_on_free_device(train, folder, n_devices, use, job):
    with _claim_device(folder, n_devices) as number, use(number):
        return train(job)


@contextmanager
def _claim_device(folder, n_devices):
    """Claim a device by making the file of its number, which fails if another process has."""
    for number in range(n_devices):
        path = os.path.join(folder, str(number))
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
            break
    else:
        raise RuntimeError(f"More than {n_devices} groups of nets are trained at a time.")
    try:
        yield number
    finally:
        os.unlink(path)


# Number of timed steps, after one that is not timed. The shortest counts, which other programs
# disturb least.
N_STEPS = 3
# Numbers of nets whose gradients are computed at once, and one after the other. Convolutions of
# many nets at once get slower when their activations leave the cache, so there are never more.
AT_ONCE, IN_TURN = 8, 2
# A training of fewer steps of single nets takes less time than a wrong choice would cost.
FEWEST_STEPS = 1000

# Only steps are timed, and what skorch does for each epoch and fit is saved as well.
_CLEARLY = 1.1

_NAMES = {
    "at_once": "grouped convolutions",
    "in_turn": "steps of nets on one thread",
    "in_series": "recorded steps of one net after the other",
}


class StepTimes(NamedTuple):
    """Seconds of a step of one net in each way; None for a way that is not possible."""

    at_once: float | None
    in_turn: float
    alone: float
    in_series: float | None = None  # one net after the other, as one recording

    @property
    def _together(self):
        """Name of the fastest way to train nets together."""
        times = {name: getattr(self, name) for name in ("at_once", "in_series", "in_turn")}
        possible = {name: time for name, time in times.items() if time is not None}
        return min(possible, key=possible.get)

    @property
    def best(self):
        """Name of the fastest way; nets are trained by themselves if that is clearly faster."""
        name = self._together
        return "alone" if getattr(self, name) > _CLEARLY * self.alone else name

    @property
    def why_alone(self):
        """Why nets are trained one after another, in words."""
        return f"one after another: {self._compare(self._together, 'alone')}"

    @property
    def why_in_turn(self):
        """Why the gradients are computed one net after the other, in words."""
        return self._compare("at_once", "in_turn")

    @property
    def why_in_series(self):
        """Why the gradients are recorded one net after the other, in words."""
        return self._compare("at_once", "in_series")

    def _compare(self, slow, fast):
        times = self._asdict()
        ratio = times[slow] / times[fast]
        return f"{_NAMES[slow]} were {ratio:.1f}x slower in a probe of {N_STEPS} steps"


def measure_ways(job, at_once=True):
    """Measure the time of a step in each way, on a small group of the nets of a job.

    Nothing of it remains: the nets are other clones, and all random generators are restored. Nets
    that are trained together have one thread in each process.
    """
    clock = _choose_clock(job)
    with preserved_randomness():
        table = shared_table(job)
        alone = _time(_steps_alone(job), clock)
        n_threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            in_turn = _time_together(job, table, IN_TURN, clock, in_turn=True)
            together = _time_together(job, table, AT_ONCE, clock) if at_once else None
            series = None
            if at_once and records_steps(job):
                series = _time_together(job, table, AT_ONCE, clock, in_series=True)
        finally:
            torch.set_num_threads(n_threads)
    return StepTimes(together, in_turn, alone, series)


def find_device(job):
    """Return the device on which the nets of a job are trained."""
    return torch.device(find_net(job.estimator).device)


def records_steps(job):
    """Return whether the steps of the nets of a job may be recorded."""
    return find_device(job).type == "cuda"


def _choose_clock(job):
    """Return a clock of the thread if all ways use one, which other programs disturb less."""
    device = find_device(job)
    if device.type == "cpu":
        has_threads = job.n_jobs is None and torch.get_num_threads() > 1
        return perf_counter if has_threads else thread_time
    return partial(_tell_when_done, device)


def _tell_when_done(device):
    """Return the time at which a device has done all that it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return perf_counter()


def _time(steps, clock):
    times = []
    for _ in range(1 + N_STEPS):
        start = clock()
        next(steps)
        times.append(clock() - start)
    return min(times[1:])


def _time_together(job, table, n_models, clock, **settings):
    n_models = min(n_models, job.n_models)
    prepared = [prepare_net(job, k, table) for k in range(n_models)]
    training = NetTraining(prepared, table, **settings)
    order = training.begin_epoch()

    def steps():
        while True:
            yield training.step(0, order)

    for _ in range(training.joint_step.n_first):
        training.step(0, order)
    return _time(steps(), clock) / n_models


def _steps_alone(job):
    """Make steps of one net as skorch does, on batches of the size of the first."""
    model = copy_unfitted(job.estimator)
    seed_estimator(model, job.seeds[0])
    members = np.flatnonzero(job.subsets[0])
    X, y = take_rows(job.data.tables[0], members), job.data.take_targets(members)
    net, X = fit_transformers(model, X, y)
    net.initialize()
    size = None
    while True:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of rows that are read-only
            iterator = iter(net.get_iterator(net.get_dataset(X, y), training=True))
        for batch in iterator:
            size = size or len(batch[1])
            if len(batch[1]) < size:  # the last one; its time would be the shortest
                break
            yield net.train_step(batch)
