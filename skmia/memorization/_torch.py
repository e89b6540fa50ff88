"""A torch module as a sequence model."""

from collections.abc import Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.containers import as_table
from .._core.numbers import MOST, check_count, check_number, show
from .._core.optional import import_optional
from .._core.records import Records
from .._core.types import ArrayLike
from ._model import check_n_given, check_sequences
from ._texts import make_records, read_texts, refuse_uncounted, warn_of_cuts, warn_of_index

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
    max_length : int, default=None
        Number of tokens that the module reads, without the start token. Victims cut longer texts
        and say how many. If None, there is no limit.

    Raises
    ------
    ImportError
        If torch is not installed.
    ValueError
        If the module returns something else, or does not know a token.

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
        max_length: int | None = None,
    ) -> None:
        if not isinstance(module, import_optional("torch", "torch").nn.Module):
            raise TypeError(f"module must be a torch.nn.Module; got {type(module).__name__}.")
        check_count(batch_size, "batch_size")
        if start_token is not None:
            allowed = "None or the number of a token, such as bos_token_id of a tokenizer"
            check_number(start_token, "start_token", allowed, 0, MOST, whole=True)
        self.module, self.start_token = module, start_token
        self.batch_size, self.device = batch_size, device
        self.max_length = None if max_length is None else check_count(max_length, "max_length")

    def __deepcopy__(self, memo):
        # clone() deep-copies parameters, and a net must not be copied for each candidate setting.
        return self

    def next_log_proba(self, prefixes: ArrayLike) -> np.ndarray:
        """Return the log-probabilities of what comes next.

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
            return self._guess_first(prefixes)
        return self._run(known, lambda logits, rows: logits[:, -1].log_softmax(1))

    def token_log_proba(self, sequences: ArrayLike, n_given: int = 0) -> np.ndarray:
        """Return the log-probabilities of the tokens of whole sequences, in one pass.

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
        n_given = check_n_given(n_given, sequences.shape[1])
        known = self._with_start(sequences)
        if known.shape[1] < 2:
            return self._guess_first(sequences)[:, n_given : sequences.shape[1]]

        def pick(logits, rows):
            return logits.log_softmax(2).gather(2, rows[:, 1:, None])[:, :, 0]

        log_proba = self._run(known[:, :-1], pick, known)
        if self.start_token is None:
            log_proba = np.column_stack([self._guess_first(sequences)[:, 0], log_proba])
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
            moments = self._run(known[:, :-1], _measure_token_logits, known).transpose(1, 0, 2)
        if self.start_token is not None:
            return moments
        first = self._guess_first(sequences)[:, :1]
        return np.concatenate([np.stack([first, first, np.zeros_like(first)]), moments], axis=2)

    def _with_start(self, tokens):
        longest = self.max_length
        if longest is not None and tokens.shape[1] > longest:
            raise ValueError(
                f"The model reads {longest} tokens at most; got a sequence of {tokens.shape[1]}."
            )
        if self.start_token is None:
            return tokens
        return np.column_stack([np.full(len(tokens), self.start_token), tokens])

    def _guess_first(self, sequences):
        some_token = np.zeros((1, 1), dtype=np.int64)
        n_tokens = self._run(some_token, lambda logits, rows: logits[:, -1]).shape[1]
        _refuse_unknown(sequences, n_tokens)
        return np.full((len(sequences), n_tokens), -np.log(n_tokens))

    def _run(self, tokens, pick, rows=None):
        """Return what ``pick`` takes of the logits after each token."""
        torch, module = import_optional("torch", "torch"), self.module
        device = self.device or next((parameter.device for parameter in module.parameters()), "cpu")
        modes, parts = [(part, part.training) for part in module.modules()], []
        module.eval()
        try:
            with torch.inference_mode():
                for start in range(0, len(tokens), self.batch_size):
                    chunk = slice(start, start + self.batch_size)
                    # A copy, as torch warns of arrays that cannot be written to.
                    batch = torch.tensor(tokens[chunk], device=device)
                    logits = self._check_logits(self._ask_module(batch), batch.shape)
                    whole = batch if rows is None else torch.tensor(rows[chunk], device=device)
                    if rows is not None:
                        _refuse_unknown(rows[chunk, 1:], logits.shape[2])
                    parts.append(pick(logits.float(), whole).cpu().numpy())
        finally:
            for part, mode in modes:
                part.training = mode
        return np.concatenate(parts)

    def _ask_module(self, batch):
        """What the module answers, with a sentence for a token or a position that it lacks."""
        try:
            return self._forward(batch)
        except (IndexError, AssertionError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and "size of tensor" not in str(error):
                raise  # such as a full memory
            raise ValueError(
                f"The module cannot read sequences of {batch.shape[1]} tokens from {batch.min()} "
                f"to {batch.max()}: it knows fewer positions or fewer tokens. Set max_length to "
                "the longest sequence that it reads, and use the tokenizer that it was trained "
                "with."
            ) from None

    def _forward(self, batch):
        return self.module(batch)

    @staticmethod
    def _check_logits(answer, shape):
        logits = answer[0] if isinstance(answer, tuple) else getattr(answer, "logits", answer)
        if getattr(logits, "ndim", 0) != 3 or logits.shape[:2] != shape:
            raise ValueError(
                f"The module must return tokens of shape {tuple(shape)} with logits of shape "
                f"({shape[0]}, {shape[1]}, n_tokens); got {tuple(getattr(logits, 'shape', ()))}."
            )
        return logits


def _refuse_unknown(tokens, n_tokens):
    if tokens.max(initial=-1) >= n_tokens:
        raise ValueError(
            f"The module has logits of {n_tokens} tokens, from 0 to {n_tokens - 1}; got the token "
            f"{tokens.max()}. Use the tokenizer that it was trained with."
        )


def _measure_token_logits(logits, rows):
    """Return log-probabilities of tokens and their moments, a tensor of shape (n, 3, length)."""
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


_POSITIONS = ("max_position_embeddings", "n_positions", "max_seq_len", "n_ctx")
# Tokenizers without a limit state a number beyond this.
_NO_LIMIT = 10_000_000


class TransformersModel(TorchSequenceModel):
    """Causal language model of the package transformers, or one like it, as a sequence model.

    Parameters
    ----------
    model : torch.nn.Module
        Model with a head for the next token, such as ``GPT2LMHeadModel``; one with adapters, such
        as a ``PeftModel``; or any module that is called with ``input_ids`` and ``attention_mask``
        and returns an object with ``logits``. It is used as it is, in evaluation mode.
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
    max_length : int, default=None
        Number of tokens that the model reads, without the start token. If None, as its
        configuration or its tokenizer says. Longer texts are cut, and a warning says how many.
    use_adapters : bool, default=True
        Whether the adapters of the model (LoRA and others) are active. False gives the model before
        fine-tuning, without a copy of its weights: the reference of
        :class:`~skmia.signals.sequences.ReferenceRatio`.

    Raises
    ------
    ImportError
        If torch is not installed.
    TypeError
        If the model is not a torch module.
    ValueError
        If it predicts no next token, knows fewer tokens than it is asked about, or has no adapters
        that could be left out.

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
        max_length: int | None = None,
        use_adapters: bool = True,
    ) -> None:
        if not isinstance(model, import_optional("torch", "torch").nn.Module):
            raise TypeError(
                "model must be a model of transformers, or a torch module that is called with "
                f"input_ids and attention_mask; got {type(model).__name__}."
            )
        _refuse_other_tasks(model)
        if not use_adapters and _find_adapter_switch(model) is None:
            raise ValueError(
                f"use_adapters=False needs a model with adapters, such as a PeftModel; got "
                f"{type(model).__name__}. Pass the model before fine-tuning itself."
            )
        if max_length is None:
            max_length = _find_longest(model, tokenizer, start_token)
        super().__init__(
            model,
            start_token=start_token,
            batch_size=batch_size,
            device=device,
            max_length=max_length,
        )
        self.tokenizer, self.use_adapters = tokenizer, use_adapters

    def read(
        self,
        texts: Sequence[str],
        *,
        prompts: Sequence[str] | None = None,
        n_given: int | ArrayLike | None = None,
        **fields: ArrayLike,
    ) -> Records:
        """Make records of texts, cut to the length that the model can read.

        Parameters
        ----------
        texts : sequence of n str
            Texts, each with one token or more.
        prompts : sequence of n str, default=None
            Beginnings of the texts that do not count, such as the question of each answer. The
            tokens that prompt and text share at their start are given.
        n_given : int or array-like of shape (n,), default=None
            Number of tokens at the start of each text that do not count. If None, 0.
        **fields : array-like of length n
            Further facts per record.

        Returns
        -------
        records : Records
            With the field ``text``.

        Raises
        ------
        ValueError
            If there is no tokenizer, or a text has no token that counts.

        Warns
        -----
        UserWarning
            If texts are cut, or a field has their index in another order.
        """
        warn_of_index(texts, "texts", {"prompts": prompts, "n_given": n_given, **fields})
        texts = _list_texts(texts, "texts")
        if not texts:
            raise ValueError("texts must hold one text or more; got none.")
        found = self._tokenize(texts)
        if prompts is not None:
            prompts = _list_texts(prompts, "prompts")
            if n_given is not None or len(prompts) != len(texts):
                raise ValueError(
                    f"prompts must hold a prompt for each of {len(texts)} texts, without n_given; "
                    f"got {len(prompts)} prompts and n_given={show(n_given)}."
                )
            n_given = self._count_shared(found, texts, prompts)
        read = read_texts(found, n_given=n_given)
        lengths, most = [len(row) for row in read.rows], self.max_length
        if most is not None and max(lengths) > most:
            warn_of_cuts(lengths, most)
            read = read._replace(
                rows=[row[:most] for row in read.rows], counts=[one[:most] for one in read.counts]
            )
            refuse_uncounted(read.counts, f"the model reads {most}")
        return make_records(read, text=np.array(texts), **fields)

    def _tokenize(self, texts):
        if self.tokenizer is None:
            raise ValueError("tokenizer is None; pass the tokenizer of the model to read texts.")
        return self.tokenizer(texts)

    def _count_shared(self, found, texts, prompts):
        """Return the number of tokens at the start of each text that are those of its prompt."""
        wrong = [i for i, (text, p) in enumerate(zip(texts, prompts)) if not text.startswith(p)]
        if wrong:
            raise ValueError(
                f"Each text must begin with its prompt; text {wrong[0]} does not: it begins with "
                f"{show(texts[wrong[0]][: len(prompts[wrong[0]])])}, the prompt is "
                f"{show(prompts[wrong[0]])}."
            )
        kept = [i for i, prompt in enumerate(prompts) if prompt]
        n_given = np.zeros(len(texts), dtype=int)
        if kept:
            asked = read_texts(self._tokenize([prompts[i] for i in kept])).rows
            whole = read_texts(found).rows
            n_given[kept] = [_share_start(whole[i], own) for i, own in zip(kept, asked)]
        return n_given

    def _with_start(self, tokens):
        known, n_tokens = super()._with_start(tokens), _count_vocabulary(self.module)
        if n_tokens is not None and known.max(initial=0) >= n_tokens:
            raise ValueError(f"The model knows {n_tokens} tokens; got the token {known.max()}.")
        return known

    def _forward(self, batch):
        mask = batch.new_ones(batch.shape)
        with nullcontext() if self.use_adapters else _without_adapters(self.module):
            return self.module(input_ids=batch, attention_mask=mask)


def _list_texts(texts, name):
    # Of a table and a dictionary, names would be taken for texts.
    is_other = isinstance(texts, str | Mapping) or as_table(texts) is not None
    if is_other or not np.iterable(texts) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{name} must be a sequence of texts; got {show(texts)}.")
    return list(texts)


def _share_start(one, other):
    n = min(len(one), len(other))
    differ = one[:n] != other[:n]
    return int(differ.argmax()) if differ.any() else n


def _refuse_other_tasks(model):
    """Refuse models of transformers that do not predict the next token."""
    config, can_generate = getattr(model, "config", None), getattr(model, "can_generate", None)
    is_causal = can_generate is None or can_generate()
    if getattr(config, "is_encoder_decoder", False) or not is_causal:
        raise ValueError(
            f"{type(model).__name__} does not predict the next token; load the model by "
            "AutoModelForCausalLM."
        )


def _find_adapter_switch(model):
    """Return a context in which adapters are off, and then on; None if the model has none."""
    if hasattr(model, "disable_adapter"):  # peft
        return model.disable_adapter
    if getattr(model, "_hf_peft_config_loaded", False):  # adapters within transformers
        return lambda: _adapters_off(model)
    return None


@contextmanager
def _adapters_off(model):
    model.disable_adapters()
    try:
        yield
    finally:
        model.enable_adapters()


@contextmanager
def _without_adapters(model):
    """Leave adapters out, and leave behind which are off and what is trainable, as it was."""
    # Of a layer with adapters this is a property, of the whole model a method.
    layers = [part for part in model.modules() if getattr(part, "disable_adapters", None) is True]
    parameters = [(one, one.requires_grad) for one in model.parameters()]
    try:
        with _find_adapter_switch(model)():
            yield
    finally:
        for layer in layers:
            layer.enable_adapters(False)
        for parameter, is_trainable in parameters:
            parameter.requires_grad_(is_trainable)


def _get_config(model):
    config = getattr(model, "config", None)
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def _find_longest(model, tokenizer, start_token):
    """Return the number of tokens that fit, or None if neither model nor tokenizer says."""
    held = [getattr(_get_config(model), name, None) for name in _POSITIONS]
    held = [next((n for n in held if isinstance(n, int) and n > 0), None)]
    held.append(getattr(tokenizer, "model_max_length", None))
    known = [int(n) for n in held if isinstance(n, int) and 0 < n < _NO_LIMIT]
    return min(known) - (start_token is not None) if known else None


def _count_vocabulary(model):
    """Return the number of tokens that a model knows, or None if it does not say."""
    with suppress(AttributeError, NotImplementedError):
        return model.get_input_embeddings().num_embeddings
    found = getattr(_get_config(model), "vocab_size", None)
    return found if isinstance(found, int) else None
