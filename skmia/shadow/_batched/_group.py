"""One group of shadow nets, trained in one program by one process."""

import warnings
from contextlib import contextmanager

import torch
from skorch.utils import to_device

from .._seeding import isolated_randomness
from .._states import StateKeeper, run_from_kept
from .._worker import ask_model, fit_shadow, summarise_model
from ._prepare import as_table_rows, prepare, shared_table
from ._train import Training

# Rows that a trained net is asked for at once: bounds its activations.
_ROWS = 8192


def train_group(job, group, generic=False):
    """Train and ask a group of nets.

    The arithmetic is on one thread: with more of them, it would depend on their number how a sum is
    rounded. Processes are what uses further cores.

    Parameters
    ----------
    job : PoolJob
        With the training sets and seeds of the group's models only.
    group : list of int
        Their numbers in the pool.
    generic : bool, default=False
        Whether plain perceptrons too take the path for any module.

    Returns
    -------
    results : list of (int, ShadowResult)
    """
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        trained = _train(job, group, generic)
        return [(k, _finish(trained.get(i), job, i)) for i, k in enumerate(group)]
    finally:
        torch.set_num_threads(n_threads)


def _finish(prepared, job, i):
    if prepared is None:  # the ordinary path trains it, or says in its own words why it cannot
        return fit_shadow(job.estimator, job.data, job.membership[i], job.seeds[i], job.settings)
    with isolated_randomness(job.seeds[i]), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        with _asked_in_bulk(prepared):
            answers = [ask_model(prepared.model, X, job.data.y) for X in job.data.queries]
    caught = prepared.warnings + [(one.category, str(one.message)) for one in caught]
    return summarise_model(answers, job.data.y, job.settings, prepared.model, caught)


def _train(job, group, generic):
    """The models that can be trained together, trained, by their place in the group."""
    table, prepared = shared_table(job), {}
    for i in range(len(group)):
        try:
            prepared[i] = prepare(job, i, table)
        except Exception:
            continue
    stacks = {}
    for i, one in prepared.items():
        stacks.setdefault(one.signature, {})[i] = one
    try:
        trainings = [Training(list(one.values()), table, generic) for one in stacks.values()]
        run_from_kept(trainings, StateKeeper(job.states, group))
    except Exception as error:
        warnings.warn(
            f"{len(group)} shadow models are trained one after the other, as their joint "
            f"training failed ({type(error).__name__}: {error}).",
            RuntimeWarning,
            stacklevel=2,
        )
        return {}
    return prepared


@contextmanager
def _asked_in_bulk(prepared):
    """Answer from whole tensors: a DataLoader collects its batches record by record."""
    net = prepared.net

    def forward_iter(X, training=False, device="cpu"):
        net._set_training(False)
        with torch.no_grad():
            for rows in as_table_rows(X, prepared.dtype, "cpu").split(_ROWS):
                yield to_device(net.infer(rows), device)  # which moves them to the net

    net.forward_iter = forward_iter
    try:
        yield
    finally:
        del net.__dict__["forward_iter"]
