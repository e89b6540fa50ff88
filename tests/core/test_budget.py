"""What work may hold, and whether it ended for lack of memory."""

from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pandas as pd
import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError
from scipy import sparse

from skmia._core.budget import (
    Cost,
    allow_bytes,
    count_table_bytes,
    describe_lack,
    format_apart,
    format_bytes,
    format_duration,
    is_of_memory,
    why_over,
)
from skmia.exceptions import TrainingError


def test_a_table_is_measured_by_what_it_stores():
    X = np.zeros((100, 1000))
    X[:, 0] = 1
    assert count_table_bytes(X) == 800_000
    stored = sparse.csr_array(X)
    assert (
        count_table_bytes(stored)
        == stored.data.nbytes + stored.indices.nbytes + stored.indptr.nbytes
    )
    assert count_table_bytes(sparse.coo_array(X)) >= 800
    assert count_table_bytes(pd.DataFrame(X)) == 800_000
    assert count_table_bytes(["a text"]) == 0


def test_work_may_hold_ten_tables_or_half_a_gigabyte():
    assert allow_bytes(np.zeros(10)) == 500e6
    large = np.broadcast_to(np.zeros(1), (10**8,))  # states its size and holds one number
    assert allow_bytes(large) == 8e9
    assert why_over(Cost(500e6), 500e6) is None
    assert why_over(Cost(7.7e9, what="a matrix"), 500e6) == (
        "it would hold 7.7 GB for a matrix, and 500 MB are allowed"
    )


@pytest.mark.parametrize(
    ("write", "number", "limit", "texts"),
    [
        (format_bytes, 7.7e9, 500e6, ("7.7 GB", "500 MB")),
        (format_bytes, 1.04e9, 1e9, ("1.04 GB", "1.00 GB")),
        (format_bytes, 32_000, 31_999, ("0.032000 MB", "0.031999 MB")),
        (format_bytes, 1_234_004e6, 1_234_000e6, ("1,234.004 GB", "1,234.000 GB")),
        (format_duration, 60.4, 60, ("60.40 s", "60.00 s")),
        (format_duration, 7230, 7210, ("2.01 h", "2.00 h")),
        (format_duration, 605, 601, ("10.08 min", "10.02 min")),
        (format_duration, 1 + 1e-14, 1, ("1.000000000 s", "1.000000000 s")),
    ],
)
def test_a_size_and_the_limit_that_it_exceeds_are_told_apart(write, number, limit, texts):
    assert format_apart(write, number, limit) == texts


@pytest.mark.parametrize(
    ("n_bytes", "text"), [(1, "1 MB"), (999e6, "999 MB"), (1e9, "1.0 GB"), (74.4e9, "74.4 GB")]
)
def test_sizes_are_read_easily(n_bytes, text):
    assert format_bytes(n_bytes) == text


def wrapped(cause):
    try:
        raise TrainingError("A model could not be trained.") from cause
    except TrainingError as error:
        return error


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        BrokenProcessPool("a child ended"),
        TerminatedWorkerError("a worker was killed"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"),
        RuntimeError("std::bad_alloc"),
        wrapped(MemoryError()),
    ],
)
def test_lack_of_memory_is_recognized(error):
    assert is_of_memory(error)
    assert "memory" in describe_lack(error)


@pytest.mark.parametrize("error", [ValueError("out of memory"), RuntimeError("no"), KeyError()])
def test_other_errors_are_not_taken_for_it(error):
    assert not is_of_memory(error)


def test_the_size_that_was_asked_for_is_said_without_the_words_of_numpy():
    error = MemoryError(
        "Unable to allocate 74.4 GiB for an array with shape (10000, 1000, 1000) and data type "
        "float64"
    )
    assert describe_lack(error) == "memory did not suffice: 79.9 GB could not be had at once"
