"""Joint training of skorch nets."""

import copy
from contextlib import nullcontext
from functools import partial

from joblib import effective_n_jobs

from ...._core.randomness import PROCESS_LOCK
from ...groups import run_groups
from ...workers import JoblibWorkers
from ..backend import TrainingBackend
from .plan import find_net, why_not_class, why_not_estimator, why_not_rows

_IN_TURN = "in turn"
_TURNS = "in each step one net after the other,"


class TorchNetsWay(TrainingBackend):
    """Trains many skorch nets at once, with weights, batches and losses of ordinary training.

    Every model starts from the same weights and sees the same batches as in ordinary training. Its
    trained weights only differ by rounding, which grows during a long training in single precision.
    Nothing is printed and the histories of the nets stay empty. The gradients of all nets are
    computed at once if torch can vectorize the net. Otherwise, or if a probe of a few steps says
    that it takes less time, they are computed for one net after the other in each step. What is
    saved then is the time that a loader takes to collect records. Each process uses one thread on a
    CPU, or one GPU; n_jobs sets their number. A perceptron of Linear, ReLU, Tanh, Sigmoid and
    Dropout has bitwise the same weights whichever nets it is trained with, if the matrix products
    of the library do not depend on memory addresses. Those of MKL do on some processors, unless the
    environment variable MKL_CBWR=COMPATIBLE is set. On these processors, and for other modules, the
    last bit can depend on n_jobs and on the number of models. why_not returns the reason why a net
    is not supported.
    """

    name = "torch"

    def __init__(self, memory=None, generic=False, decided=True):
        self.memory = memory
        self.generic = generic
        self.decided = decided
        self._checked = None  # what the check of two models found
        self._in_turn = self._in_series = False

    @property
    def numbers(self):
        return f"{self.name}, {_IN_TURN}" if self._in_turn else self.name

    def why_not(self, job):
        reason = why_not_estimator(job.estimator)
        if reason is None and find_net(job.estimator) is job.estimator:
            reason = why_not_rows(job.data.tables[0])
        if reason:
            return reason
        from .equality import check_training, is_uncertain

        if not self.decided:
            reason = self._why_too_short(job, is_uncertain)
            if reason:
                return reason
        self._checked = check_training(job, self.generic)
        self._in_turn = bool(self._checked.at_once)
        return self._checked.reason

    def is_meant_for(self, estimator):
        return find_net(estimator) is not None

    def nearly(self, job):
        return why_not_class(job.estimator)

    def chosen(self, job, known=None, forced=False):
        """Return the way that is taken, by a measurement only where this one may be the slower one.

        Other kinds of models are never measured: ``chosen`` of ``TrainingBackend``.
        """
        if self._checked is None:
            return self
        at_once = self._checked.at_once
        if known is not None and known.startswith(self.name):
            way = self._but(at_once or "", _in_turn=bool(at_once) or _IN_TURN in known)
            return way._choose_series(job)
        if forced or not self._is_uncertain():
            return self._but(at_once and f"{_TURNS} because {at_once}")._choose_series(job)
        if known is not None:
            return self._but(slower="one after another, like the earlier models of this pool")
        with PROCESS_LOCK:
            return self._fastest(job)

    def _is_uncertain(self):
        """Return whether it depends on the machine which way is the fastest."""
        return self._checked.has_convolutions or bool(self._checked.at_once)

    def _why_too_short(self, job, is_uncertain=None):
        """Return why a training is not probed, or None; only of some nets if a test is given."""
        from .prepare import count_training_steps, prepare_net, shared_table
        from .timing import FEWEST_STEPS

        try:
            first = prepare_net(job, 0, shared_table(job))
        except Exception:  # the check tells the reason
            return None
        n_steps = count_training_steps(job, first)
        if n_steps >= FEWEST_STEPS or (is_uncertain and not is_uncertain(first.net)):
            return None
        return f"one after another: a training of {n_steps} steps is too short for a probe"

    def _fastest(self, job):
        from .timing import measure_ways

        too_short = self._why_too_short(job)
        if too_short:
            return self._but(slower=too_short)
        at_once = self._checked.at_once
        times = measure_ways(job, not at_once)
        if times.best == "alone":
            return self._but(slower=times.why_alone)
        if times.best == "in_turn":
            return self._but(f"{_TURNS} because {at_once or times.why_in_turn}", _in_turn=True)
        if times.best == "in_series":
            return self._but(f"{_TURNS} because {times.why_in_series}", _in_series=True)
        return self

    def _choose_series(self, job):
        """Return the way with recorded steps of one net after the other if these are faster."""
        from .timing import measure_ways, records_steps

        if self._in_turn or not self._checked.has_convolutions or not records_steps(job):
            return self
        if self._why_too_short(job):
            return self
        with PROCESS_LOCK:
            times = measure_ways(job, True)
        if times.at_once <= times.in_series:
            return self
        return self._but(f"{_TURNS} because {times.why_in_series}", _in_series=True)

    def _but(self, note="", slower=None, **settings):
        way = copy.copy(self)
        vars(way).update(note=note or "", slower=slower, **settings)
        return way

    def run(self, job, models, where):
        from . import timing
        from .group import train_group
        from .precision import read_precision

        ways = {"in_turn": self._in_turn, "in_series": self._in_series}
        device = find_net(job.estimator).device
        # On a CPU, workers keep the precision that they have.
        precision = None if str(device).startswith("cpu") else read_precision()
        train = partial(train_group, precision=precision, generic=self.generic, **ways)
        n_devices = 0
        if isinstance(where, JoblibWorkers):  # those of a cluster have devices of their own
            n_devices = timing.count_devices(device, job.n_jobs)
        if n_devices:
            job = job._replace(n_jobs=n_devices)  # one process keeps a whole device busy
        with (
            timing.spread_over_gpus(train, n_devices)
            if n_devices > 1
            else nullcontext(train) as train
        ):
            yield from run_groups(job, models, where, self._count_together, train)

    def _count_together(self, job):
        from .prepare import bytes_per_model, memory_for, prepare_net, shared_table
        from .timing import AT_ONCE

        table = shared_table(job)
        try:
            first = prepare_net(job, 0, table)
        except Exception:  # ordinary training of this model raises the error again
            return 1
        memory = memory_for(first.device) if self.memory is None else self.memory
        if first.device.type == "cpu":  # which all processes share
            memory //= effective_n_jobs(job.n_jobs)
        n_models = memory // bytes_per_model(first, table)
        if self._checked and self._checked.has_convolutions and first.device.type == "cpu":
            n_models = min(n_models, AT_ONCE)
        return max(1, n_models)
