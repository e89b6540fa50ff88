"""The GPUs of a machine, one for each process that trains nets."""

import os
from contextlib import contextmanager, suppress
from functools import partial
from tempfile import TemporaryDirectory

import torch
from joblib import effective_n_jobs


def count_devices(device, n_jobs):
    """Return the number of devices that groups of nets are spread over; 0 on a CPU.

    Parameters
    ----------
    device : str or torch device
        Device of the nets. A GPU with a number is used alone.
    n_jobs : int or None
        Largest number of processes, as joblib reads it.
    """
    device = torch.device(device)
    if device.type != "cuda" or device.index is not None:
        return int(device.type != "cpu")
    return max(1, min(torch.cuda.device_count(), effective_n_jobs(n_jobs)))


@contextmanager
def spread(train, n_devices, use=torch.cuda.device):
    """Let a function that trains a group use a GPU that no other process of the same fit uses.

    Parameters
    ----------
    train : callable
        Takes the job of a group.
    n_devices : int
        Number of GPUs, and of processes that call the function at a time.
    use : callable, default=torch.cuda.device
        Takes the number of a GPU; returns the context in which tensors without a number are on it.

    Yields
    ------
    train : callable
    """
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
