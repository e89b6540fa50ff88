"""Causal language models of the package transformers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.numbers import show
from .._core.optional import import_optional
from .._core.records import Records
from ._model import check_sequences
from ._records import token_records
from ._torch import TorchSequenceModel

if TYPE_CHECKING:
    import torch

_POSITIONS = ("max_position_embeddings", "n_positions")


class TransformersModel(TorchSequenceModel):
    """Causal language model of the package transformers, as a sequence model.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Model with a head for the next token, such as ``GPT2LMHeadModel``. It is used as it is, in
        evaluation mode.
    tokenizer : callable, default=None
        Tokenizer of the model, for :meth:`read`: called with a list of texts, it returns their
        token ids under ``"input_ids"``.
    start_token : int, default=None
        Token that was put before each text in training. If None, the first token of a text is not
        known, and victims leave it out by default.
    batch_size : int, default=8
        Maximum number of sequences in one pass, which bounds the memory: a pass makes a logit for
        each token of the vocabulary at each position.
    device : str or torch.device, default=None
        Where the model is. If None, the device of its first parameter.

    Raises
    ------
    ImportError
        If transformers is not installed.
    TypeError
        If the model is of another package.
    ValueError
        If it predicts no next token, or a sequence is longer than the model can read.

    See Also
    --------
    SequenceVictim : Makes a victim of it.

    Examples
    --------
    >>> from transformers import GPT2Config, GPT2LMHeadModel  # doctest: +SKIP
    >>> from skmia.memorization import SequenceVictim, TransformersModel
    >>> config = GPT2Config(vocab_size=64, n_layer=1, n_head=2, n_embd=32)  # doctest: +SKIP
    >>> victim = SequenceVictim(TransformersModel(GPT2LMHeadModel(config)))  # doctest: +SKIP
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        start_token: int | None = None,
        batch_size: int = 8,
        device: "str | torch.device | None" = None,
    ) -> None:
        if not isinstance(model, import_optional("transformers", "hf").PreTrainedModel):
            raise TypeError(
                f"model must be a model of transformers; got {type(model).__name__}. "
                "TorchSequenceModel takes other torch modules."
            )
        if model.config.is_encoder_decoder or not model.can_generate():
            raise ValueError(
                f"{type(model).__name__} does not predict the next token; load the model by "
                "AutoModelForCausalLM."
            )
        super().__init__(model, start_token=start_token, batch_size=batch_size, device=device)
        self.tokenizer = tokenizer

    def read(self, texts: Sequence[str], **fields: ArrayLike) -> Records:
        """Make records of texts, cut to the length that the model can read.

        Parameters
        ----------
        texts : sequence of n str
            Texts, each with one token or more.
        **fields : array-like of length n
            Further facts per record.

        Returns
        -------
        records : Records
            With the field ``text``.
        """
        if self.tokenizer is None:
            raise ValueError("tokenizer is None; pass the tokenizer of the model to read texts.")
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise ValueError(f"texts must be a sequence of texts; got {show(texts)}.")
        found = self.tokenizer(list(texts))["input_ids"]
        most = self._longest()
        cut = [np.asarray(tokens, dtype=np.int64)[:most] for tokens in found]
        return token_records(cut, text=np.array(list(texts)), **fields)

    def _longest(self):
        """Number of tokens that fit, or None if the model does not say."""
        held = (getattr(self.module.config, name, None) for name in _POSITIONS)
        longest = next((number for number in held if isinstance(number, int)), None)
        return None if longest is None else longest - (self.start_token is not None)

    def _with_start(self, tokens):
        longest, known = self._longest(), check_sequences(tokens, least=0)
        if longest is not None and known.shape[1] > longest:
            raise ValueError(
                f"The model reads {longest} tokens at most; got a sequence of {known.shape[1]}."
            )
        n_tokens = self.module.config.get_text_config().vocab_size
        if known.max(initial=0) >= n_tokens:
            raise ValueError(f"The model knows {n_tokens} tokens; got the token {known.max()}.")
        return super()._with_start(tokens)
