"""Signal that compares a text's loss with how far it can be compressed."""

import zlib
from dataclasses import dataclass

import numpy as np

from .._core.numbers import show
from ._tokens import TokenRecordSignal, mean_log_proba


@dataclass(frozen=True)
class ZlibRatio(TokenRecordSignal):
    r"""Mean log-likelihood per token divided by the number of bytes of the compressed text.

    .. math::

        \frac{\frac1T \sum_t \log p(x_t | x_{<t})}{\mathrm{zlib}(x)}

    A text that compresses well, such as a repetition, is expected by any model. Source: Carlini et
    al. (2021), Extracting training data from large language models.

    Parameters
    ----------
    field : str, default="text"
        Field of the records that holds the texts; they are compressed as UTF-8.

    Examples
    --------
    >>> from skmia.memorization import TokenOutputs, token_records
    >>> from skmia.signals import ZlibRatio
    >>> records = token_records([[1, 2]], text=["to be"], outputs=TokenOutputs([[-1.0, -2.0]]))
    >>> ZlibRatio().of(None, records).round(4)  # minus 1.5 by 13 bytes
    array([-0.1154])
    """

    field: str = "text"
    name = "zlib_ratio"

    def _compare(self, outputs, ask, records):
        if not isinstance(self.field, str) or self.field not in records.fields:
            raise ValueError(
                f"Signal {self.name!r} reads texts in the field {show(self.field)}, which the "
                "records lack; pass the texts to token_records under this name."
            )
        texts = records[self.field]
        sizes = [len(zlib.compress(str(text).encode("utf-8", "replace"))) for text in texts]
        return mean_log_proba(outputs) / np.array(sizes)
