"""Joint training of skorch nets."""

from functools import partial

from joblib import effective_n_jobs

from ...._core.seeding import PROCESS_LOCK
from ...groups import run_groups
from ...where.joblib import JoblibWorkers
from ..way import Way
from .plan import find_net, why_not_class, why_not_estimator, why_not_rows


class TorchNetsWay(Way):
    """Trains many skorch nets at once, with the weights, batches and losses of ordinary training.

    Every model starts from the same weights and sees the same batches as in ordinary training. Its
    trained weights only differ by rounding, which grows during a long training in single precision.
    Nothing is printed and the histories of the nets stay empty.

    Each process uses one thread on a CPU; ``n_jobs`` sets the number of processes. A perceptron of
    Linear, ReLU, Tanh, Sigmoid and Dropout has bitwise the same weights whichever nets it is
    trained with, if the matrix products of the library do not depend on memory addresses. Those of
    MKL do on some processors, unless the environment variable ``MKL_CBWR=COMPATIBLE`` is set. On
    these processors, and for other modules, the last bit can depend on ``n_jobs`` and on the number
    of models.

    :meth:`why_not` returns the reason why a net is not supported.

    Parameters
    ----------
    memory : int, default=None
        Bytes that the jointly trained models may take, without the records. If None, 512 MiB on a
        CPU, shared by all processes, and half of the free memory on a GPU.
    generic : bool, default=False
        Whether plain perceptrons also use the path for any module.
    note : str, default=""
        What was measured of the fast products that are used; empty for the usual ones.
    """

    name = "torch"

    def __init__(self, memory=None, generic=False, note=""):
        self.memory = memory
        self.generic = generic
        self.note = note

    @property
    def numbers(self):
        return f"{self.name}, fast products" if self.note else self.name

    def tuned(self, job, known=None):
        if known == self.numbers:
            return self
        from .group import measure_products

        with PROCESS_LOCK:
            measured = measure_products(job)
        tuned = TorchNetsWay(self.memory, self.generic, "" if measured is None else str(measured))
        if measured is None or not measured.are_single:
            return self
        return tuned if measured.are_faster or known == tuned.numbers else self

    def why_not(self, job):
        reason = why_not_estimator(job.estimator)
        if reason is None and find_net(job.estimator) is job.estimator:
            reason = why_not_rows(job.data.tables[0])
        if reason:
            return reason
        from .check import why_not_trained

        return why_not_trained(job, self.generic)

    def is_meant_for(self, estimator):
        return find_net(estimator) is not None

    def nearly(self, job):
        return why_not_class(job.estimator)

    def run(self, job, models, where):
        from .group import train_group

        if str(find_net(job.estimator).device) != "cpu":
            # One process keeps the whole device busy.
            job, where = job._replace(n_jobs=1), JoblibWorkers()
        train = partial(train_group, generic=self.generic, fast=bool(self.note))
        yield from run_groups(job, models, where, self._count_together, train)

    def _count_together(self, job):
        from .memory import bytes_per_model, memory_for
        from .prepare import prepare, shared_table

        table = shared_table(job)
        try:
            first = prepare(job, 0, table)
        except Exception:  # ordinary training of this model raises the error again
            return 1
        memory = memory_for(first.device) if self.memory is None else self.memory
        return max(1, memory // effective_n_jobs(job.n_jobs) // bytes_per_model(first, table))
