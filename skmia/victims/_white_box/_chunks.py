"""Passes of inputs through a model, in chunks that fit the memory."""

from abc import ABC, abstractmethod

import numpy as np
from sklearn.utils import gen_batches

from . import _checks as checks
from ._pass import scaled, split


class Chunked(ABC):
    """A model through which inputs are sent in chunks.

    Parameters
    ----------
    chunk_size : int or None
        Number of rows of a chunk. If None, it depends on the task.
    """

    def __init__(self, chunk_size):
        self._chunk_size = chunk_size

    @abstractmethod
    def _pass(self, chunk, wrt):
        """Return a context manager that sends a chunk of inputs through the model: a ForwardPass.

        ``wrt`` names the gradients that will be computed, or is None.
        """

    @abstractmethod
    def _rows_at_once(self, inputs, task):
        """Size of a chunk for a task: "answers", "inputs", "norms", "parts" or "whole"."""

    def _apply(self, inputs, task, wrt, answer):
        """Yield the rows and ``answer(forward pass, rows)`` of each chunk."""
        size = self._chunk_size or self._rows_at_once(inputs, task)
        for rows in gen_batches(len(inputs), size):
            # The pass ends before the result is yielded, so the caller never sees a changed model.
            with self._pass(inputs[rows], wrt) as forward:
                found = answer(checks.check_answers(forward, rows.start), rows)
            yield rows, found

    def _ask(self, inputs):
        chunks = self._apply(inputs, "answers", None, lambda forward, rows: forward.raw)
        return np.concatenate([raw for _, raw in chunks])

    def _pull(self, inputs, cotangent):
        """Gradients of inputs for ``cotangent(raw, rows)`` of each chunk."""

        def answer(forward, rows):
            unit, scale = split(cotangent(forward.raw, rows))
            return scaled(forward.input_gradients(unit), scale)

        chunks = self._apply(inputs, "inputs", "inputs", answer)
        return np.concatenate([part for _, part in chunks])
