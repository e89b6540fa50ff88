"""The way that trains many skorch nets in one program."""

from functools import partial

from joblib import effective_n_jobs

from ...groups import run_groups
from ...where.joblib import JoblibWorkers
from ..way import Way
from .plan import find_net, why_not_class, why_not_estimator, why_not_rows


class TorchNetsWay(Way):
    """Many skorch nets at once: the same weights, batches and losses as one after the other.

    Every model starts from the weights, and sees the batches, that the ordinary path gives it; its
    weights differ from it by rounding only, which single precision lets grow during a long
    training. Nothing is printed and the nets' histories stay empty.

    Each process has one thread on a CPU, and further ones come with ``n_jobs``. A perceptron of
    Linear, ReLU, Tanh, Sigmoid and Dropout has bitwise the same weights whichever nets are trained
    with it, where the library's products of matrices do not depend on addresses in memory: MKL's do
    on some processors, unless the environment says ``MKL_CBWR=COMPATIBLE``. There, and for other
    modules, the last bit can depend on ``n_jobs`` and on the number of models.

    What it refuses and why is the answer of :meth:`why_not`.

    Parameters
    ----------
    memory : int, default=None
        Bytes that the models trained at once may take; the records come on top. None takes 512 MiB
        on a CPU, shared by all processes, and half of what is free on a GPU.
    generic : bool, default=False
        Whether plain perceptrons too take the path for any module.
    """

    name = "torch"

    def __init__(self, memory=None, generic=False):
        self.memory = memory
        self.generic = generic

    def why_not(self, job):
        reason = why_not_estimator(job.estimator)
        if reason is None and find_net(job.estimator) is job.estimator:
            reason = why_not_rows(job.data.tables[0])
        if reason:
            return reason
        from .check import why_not_trained

        return why_not_trained(job, self.generic)

    def nearly(self, job):
        return why_not_class(job.estimator)

    def run(self, job, models, where):
        from .group import train_group

        if str(find_net(job.estimator).device) != "cpu":
            # One process keeps the whole device busy.
            job, where = job._replace(n_jobs=1), JoblibWorkers()
        train = partial(train_group, generic=self.generic)
        yield from run_groups(job, models, where, self._count_together, train)

    def _count_together(self, job):
        from .memory import bytes_per_model, memory_for
        from .prepare import prepare, shared_table

        table = shared_table(job)
        try:
            first = prepare(job, 0, table)
        except Exception:  # told by the ordinary path, when its turn comes
            return 1
        memory = memory_for(first.device) if self.memory is None else self.memory
        return max(1, memory // effective_n_jobs(job.n_jobs) // bytes_per_model(first, table))
