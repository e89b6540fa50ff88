"""A torch module as a sequence model."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.numbers import check_count, show
from .._core.optional import import_optional
from .._core.records import Records
from .._core.types import ArrayLike
from ._model import check_sequences, token_records

if TYPE_CHECKING:
    import torch

# Logits whose moments are computed at once: a vocabulary of 50,000 tokens makes many.
_MOST_LOGITS = 1 << 24


class TorchSequenceModel:
    """A torch module that predicts each next token, as a sequence model.

    Parameters
    ----------
    module : torch.nn.Module
        Takes tokens, an integer tensor of shape (n, length), and returns logits of shape (n,
        length, n_tokens), those at a position from nothing but the tokens up to it; or a tuple that
        begins with them, or an object with them as ``logits``, as the models of transformers give.
        It is used as it is, in evaluation mode.
    start_token : int, default=None
        Token that was put before each sequence in training. If None, nothing is known of the first
        token, which then has equal probabilities.
    batch_size : int, default=1024
        Most sequences in one pass.
    device : str or torch.device, default=None
        Where the module is. If None, the device of its first parameter.

    Raises
    ------
    ImportError
        If torch is not installed.
    ValueError
        If the module returns something else.

    See Also
    --------
    NGramModel : Counts instead.

    Examples
    --------
    >>> import torch
    >>> from skmia.memorization import TorchSequenceModel, log_perplexity
    >>> class Bigrams(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.table = torch.nn.Embedding(4, 4)
    ...     def forward(self, tokens):
    ...         return self.table(tokens)
    >>> model = TorchSequenceModel(Bigrams())
    >>> log_perplexity(model, [[0, 1, 2], [3, 3, 3]]).shape
    (2,)
    """

    def __init__(
        self,
        module: "torch.nn.Module",
        *,
        start_token: int | None = None,
        batch_size: int = 1024,
        device: "str | torch.device | None" = None,
    ) -> None:
        if not isinstance(module, import_optional("torch", "torch").nn.Module):
            raise TypeError(f"module must be a torch.nn.Module; got {type(module).__name__}.")
        check_count(batch_size, "batch_size")
        self.module, self.start_token = module, start_token
        self.batch_size, self.device = batch_size, device

    def __deepcopy__(self, memo):
        # clone() deep-copies parameters, and a net must not be copied for each candidate setting.
        return self

    def next_log_proba(self, prefixes: ArrayLike) -> np.ndarray:
        """Log-probabilities of what comes next.

        Parameters
        ----------
        prefixes : array-like of shape (n, length), dtype int
            Tokens so far.

        Returns
        -------
        log_proba : ndarray of shape (n, n_tokens)
            Log-probability of each token, in nats.
        """
        prefixes = check_sequences(prefixes, least=0)
        known = self._with_start(prefixes)
        if known.shape[1] == 0:
            return self._guess_first(len(prefixes))
        return self._run(known, lambda logits, rows: logits[:, -1].log_softmax(1))

    def token_log_proba(self, sequences: ArrayLike, n_given: int = 0) -> np.ndarray:
        """Log-probabilities of the tokens of whole sequences, in one pass.

        Parameters
        ----------
        sequences : array-like of shape (n, length), dtype int
            Tokens.
        n_given : int, default=0
            Number of tokens at the start that are not asked for.

        Returns
        -------
        log_proba : ndarray of shape (n, length - n_given)
            Log-probability of each token, in nats.
        """
        sequences = check_sequences(sequences, least=0)
        known = self._with_start(sequences)
        if known.shape[1] < 2:
            return self._guess_first(len(sequences))[:, n_given : sequences.shape[1]]

        def pick(logits, rows):
            return logits.log_softmax(2).gather(2, rows[:, 1:, None])[:, :, 0]

        log_proba = self._run(known[:, :-1], pick, known)
        if self.start_token is None:
            log_proba = np.column_stack([self._guess_first(len(sequences))[:, 0], log_proba])
        return log_proba[:, n_given:]

    def token_moments(self, sequences: ArrayLike) -> np.ndarray:
        """Log-probabilities of tokens, and their moments over the vocabulary, in one pass.

        Parameters
        ----------
        sequences : array-like of shape (n, length), dtype int
            Tokens.

        Returns
        -------
        moments : ndarray of shape (3, n, length)
            In nats: the log-probability of each token, and at each position the mean and the
            standard deviation of log p over the vocabulary, under the model.
        """
        sequences = check_sequences(sequences)
        known, moments = self._with_start(sequences), np.zeros((3, len(sequences), 0))
        if known.shape[1] > 1:
            moments = self._run(known[:, :-1], _measure, known).transpose(1, 0, 2)
        if self.start_token is not None:
            return moments
        first = self._guess_first(len(sequences))[:, :1]
        return np.concatenate([np.stack([first, first, np.zeros_like(first)]), moments], axis=2)

    def _with_start(self, tokens):
        if self.start_token is None:
            return tokens
        return np.column_stack([np.full(len(tokens), self.start_token), tokens])

    def _guess_first(self, n_sequences):
        some_token = np.zeros((1, 1), dtype=np.int64)
        n_tokens = self._run(some_token, lambda logits, rows: logits[:, -1]).shape[1]
        return np.full((n_sequences, n_tokens), -np.log(n_tokens))

    def _run(self, tokens, pick, rows=None):
        """What ``pick`` takes of the logits after each token."""
        torch, module = import_optional("torch", "torch"), self.module
        device = self.device or next((parameter.device for parameter in module.parameters()), "cpu")
        modes, parts = [(part, part.training) for part in module.modules()], []
        module.eval()
        try:
            with torch.inference_mode():
                for start in range(0, len(tokens), self.batch_size):
                    chunk = slice(start, start + self.batch_size)
                    batch = torch.as_tensor(tokens[chunk], device=device)
                    logits = self._check_logits(module(batch), batch.shape)
                    whole = batch if rows is None else torch.as_tensor(rows[chunk], device=device)
                    parts.append(pick(logits.float(), whole).cpu().numpy())
        finally:
            for part, mode in modes:
                part.training = mode
        return np.concatenate(parts)

    @staticmethod
    def _check_logits(answer, shape):
        logits = answer[0] if isinstance(answer, tuple) else getattr(answer, "logits", answer)
        if getattr(logits, "ndim", 0) != 3 or logits.shape[:2] != shape:
            raise ValueError(
                f"The module must return tokens of shape {tuple(shape)} with logits of shape "
                f"({shape[0]}, {shape[1]}, n_tokens); got {tuple(getattr(logits, 'shape', ()))}."
            )
        return logits


def _measure(logits, rows):
    """Log-probabilities of tokens and their moments, a tensor of shape (n, 3, length)."""
    torch, parts = import_optional("torch", "torch"), []
    step = max(1, _MOST_LOGITS // (logits.shape[1] * logits.shape[2]))
    for some, tokens in zip(logits.split(step), rows.split(step), strict=True):
        log_proba = some.log_softmax(2)
        own = log_proba.gather(2, tokens[:, 1:, None])[:, :, 0]
        proba = log_proba.exp()
        # p log p is 0 for a token that cannot come.
        mean = (proba * log_proba).nan_to_num_(0.0).sum(2)
        above = (log_proba - mean[:, :, None]).square_().mul_(proba)
        spread = above.nan_to_num_(0.0).sum(2).sqrt()
        parts.append(torch.stack([own, mean, spread], dim=1))
    return torch.cat(parts)


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
