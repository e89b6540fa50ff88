"""The backend of a shadow pool that trains many skorch nets in one program."""

import warnings
from collections import Counter
from contextlib import contextmanager

from .._backends import Backend
from .._seeding import isolated_randomness
from .._worker import ask_model, fit_shadow, summarise_model
from ._plan import find_net, why_not_estimator, why_not_rows

# Bytes that a chunk of models may take, besides the records.
_MEMORY = 512 * 2**20
# Rows that a trained net is asked for at once: bounds its activations.
_ROWS = 8192


class BatchedTorchBackend(Backend):
    """Many skorch nets at once: the same weights, batches and losses as one after the other.

    Every model starts from the weights, and sees the batches, that the ordinary path gives it; its
    weights differ from it by rounding only, which single precision lets grow during a long
    training. Nothing is printed and the nets' histories stay empty.

    What it refuses and why is the answer of :meth:`why_not`.

    Parameters
    ----------
    memory : int, default=512 MiB
        Bytes that the models trained at once may take; the records come on top.
    generic : bool, default=False
        Whether plain perceptrons too take the path for any module.
    """

    name = "torch"

    def __init__(self, memory=_MEMORY, generic=False):
        self.memory = memory
        self.generic = generic

    def why_not(self, job):
        reason = why_not_estimator(job.estimator)
        if reason is None and find_net(job.estimator) is job.estimator:
            reason = why_not_rows(job.data.queries[0])
        if reason:
            return reason
        from ._check import why_not_trained

        return why_not_trained(job, self.generic)

    def run(self, job, models):
        from ._prepare import shared_table

        table, models = shared_table(job), list(models)
        while models:
            size = self._chunk_size(job, models[0], table)
            chunk, models = models[:size], models[size:]
            yield from self._run_chunk(job, chunk, table)

    def _chunk_size(self, job, k, table):
        from ._memory import bytes_per_model
        from ._prepare import prepare

        try:
            first = prepare(job, k, table)
        except Exception:  # told by the ordinary path, when its turn comes
            return 1
        return max(1, self.memory // bytes_per_model(first, table))

    def _run_chunk(self, job, chunk, table):
        trained = self._train(job, chunk, table)
        for k in chunk:
            one = trained.pop(k, None)
            if one is None:
                inside, seeds = job.membership[k], job.seeds[k]
                yield k, fit_shadow(job.estimator, job.data, inside, seeds, job.settings)
            else:
                yield k, _summarise(one, job, k)

    def _train(self, job, chunk, table):
        """The models of a chunk that can be trained together, trained."""
        from ._prepare import prepare
        from ._train import Training

        prepared = {}
        for k in chunk:
            try:
                prepared[k] = prepare(job, k, table)
            except Exception:  # the ordinary path raises it again, in its own words
                continue
        if prepared:
            usual = Counter(one.signature for one in prepared.values()).most_common(1)[0][0]
            prepared = {k: one for k, one in prepared.items() if one.signature == usual}
            try:
                training = Training(list(prepared.values()), table, self.generic)
                training.run(training.net.max_epochs)
            except Exception as error:
                warnings.warn(
                    f"{len(chunk)} shadow models are trained one after the other, as their joint "
                    f"training failed ({type(error).__name__}: {error}).",
                    RuntimeWarning,
                    stacklevel=2,
                )
                return {}
        return prepared


def _summarise(prepared, job, k):
    with isolated_randomness(job.seeds[k]), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        with _asked_in_bulk(prepared):
            answers = [ask_model(prepared.model, X, job.data.y) for X in job.data.queries]
    caught = prepared.warnings + [(one.category, str(one.message)) for one in caught]
    return summarise_model(answers, job.data.y, job.settings, prepared.model, caught)


@contextmanager
def _asked_in_bulk(prepared):
    """Answer from whole tensors: a DataLoader collects its batches record by record."""
    import torch
    from skorch.utils import to_device

    from ._prepare import as_table_rows

    net = prepared.net

    def forward_iter(X, training=False, device="cpu"):
        net._set_training(False)
        with torch.no_grad():
            for rows in as_table_rows(X, prepared.dtype, net.device).split(_ROWS):
                yield to_device(net.infer(rows), device)

    net.forward_iter = forward_iter
    try:
        yield
    finally:
        del net.__dict__["forward_iter"]
