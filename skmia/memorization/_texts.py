"""Reading of texts as tokens: what tokenizers return, padding, and what does not count."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._core.callers import level_of_user
from .._core.containers import is_frame, load_table, table_to_rows
from .._core.numbers import refuse_first, show, to_array
from .._core.records import Records, warn_of_rows
from .._core.tokens import (
    GIVEN,
    LENGTHS,
    TokenOutputs,
    arrange_outputs,
    check_given,
    count_row_lengths,
    name_rows,
    stack_tokens,
)
from .._core.types import ArrayLike

_MUST = (
    "sequences must be a sequence of one or more sequences of tokens, whole numbers of 0 and above"
)

# What a tokenizer returns beside the tokens, and what each says of them.
_MASKS = ("attention_mask", "labels", "assistant_masks")

# The label of a token that does not count, in transformers and torch.
_IGNORED = -100

# Padding is taken for such where more than half of the texts end, or begin, in a token that is
# repeated, in one of them at least three times; in a query, which may be about variants of one
# text, at least five times.
_SHORTEST_RUN, _LONGEST_RUN, _LONGEST_OF_QUERY = 2, 3, 5

# So many texts say whether a token stands twice at the start of each.
_FEWEST_TEXTS = 8


class TokenTexts(NamedTuple):
    """Tokens of each text without padding, and where they stood in the rows that were given."""

    rows: list  # an array of tokens each
    counts: list  # which of them count, a bool each
    inside: list  # which places of the given rows hold tokens


def read_texts(sequences, attention_mask=None, labels=None, n_given=None):
    """Read tokens of texts, without padding and with what does not count."""
    given = {"attention_mask": attention_mask, "labels": labels}
    ids, masks = _unpack_masks(open_table(sequences))
    masks |= {name: mask for name, mask in given.items() if mask is not None}
    rows = _list_sequences(ids)
    inside = _read_mask(masks, "attention_mask", rows)
    refuse_first(_list_wrong_places(inside))
    counts = _read_counted_tokens(masks, rows, inside)
    texts = [row[own] for row, own in zip(rows, inside, strict=True)]
    _check_tokens(texts)
    counts = [one[own] for one, own in zip(counts, inside, strict=True)]
    if n_given is not None:
        starts = check_given(n_given, len(texts))
        counts = [own & (np.arange(len(own)) >= n) for own, n in zip(counts, starts, strict=True)]
    refuse_uncounted(counts)
    if not _warn_of_double_start(texts) and "attention_mask" not in masks:
        warn_of_padding(texts)
    return TokenTexts(texts, counts, inside)


def refuse_uncounted(counts, why="n_given, labels"):
    """Name the texts of which no token counts."""
    empty = np.array([not own.any() for own in counts], dtype=bool)
    if empty.any():
        raise ValueError(
            f"No token counts ({why}) of {name_rows(empty, 'record')} of {len(empty)}; leave out "
            "records of which nothing is left."
        )


def _unpack_masks(sequences):
    """Return the token ids and the masks that come with them."""
    if _is_mapping(sequences):
        held = sequences
    elif isinstance(sequences, list | tuple) and sequences and _is_mapping(sequences[0]):
        held = _collate_dicts(sequences)
    elif isinstance(sequences, list | tuple) and sequences and hasattr(sequences[0], "ids"):
        # Encodings of the package tokenizers.
        names = {"input_ids": "ids", "attention_mask": "attention_mask"}
        held = {name: [getattr(one, own) for one in sequences] for name, own in names.items()}
    else:
        return sequences, {}
    if "input_ids" not in held:
        raise ValueError(
            "What the tokenizer returned must hold 'input_ids'; got "
            f"{', '.join(map(repr, held)) or 'nothing'}."
        )
    masks = {name: held[name] for name in _MASKS if name in held and held[name] is not None}
    return held["input_ids"], masks


def open_table(sequences):
    """Return a table as its columns by name, if it has token ids, or as its rows."""
    table = load_table(sequences)
    if not is_frame(table) or "input_ids" not in table.columns:
        return table_to_rows(table)
    names = [name for name in ("input_ids", *_MASKS) if name in table.columns]
    return {name: list(table[name]) for name in names}


def _is_mapping(value):
    return isinstance(value, Mapping)


def _collate_dicts(dicts):
    """Return the rows of a data set, a dictionary each, as one dictionary."""
    names = [name for name in _MASKS if any(name in one for one in dicts)]
    for name in ("input_ids", *names):
        lacking = next((i for i, one in enumerate(dicts) if name not in one), None)
        if lacking is not None:
            raise ValueError(f"Record {lacking} has no {name!r}; got {show(dict(dicts[lacking]))}.")
    return {name: [one[name] for one in dicts] for name in ("input_ids", *names)}


def _list_sequences(sequences):
    """Return the tokens of each text; refuse one text, strings, and a stream of tokens."""
    if isinstance(sequences, str | bytes) or not np.iterable(sequences):
        raise ValueError(f"{_MUST}; got {show(sequences)}.")
    if isinstance(sequences, np.ndarray) and sequences.ndim == 1 and sequences.dtype.kind in "iu":
        raise ValueError(
            f"{_MUST}; got one sequence of {len(sequences)} tokens. Cut a stream of tokens into "
            "texts, such as tokens.reshape(-1, 1024), or pass [tokens] for a single text."
        )
    rows = []
    for sequence in sequences:
        if isinstance(sequence, str | bytes):
            raise ValueError(
                f"{_MUST}; got {show(sequence)} at place {len(rows)}. Pass what the tokenizer "
                "returns for the texts: token_records(tokenizer(texts))."
            )
        row = to_array(sequence, "A sequence", "hold tokens, whole numbers of 0 and above")
        if row.ndim == 0 and row.dtype.kind in "iu":
            raise ValueError(
                f"{_MUST}; got the tokens of one text, {show(sequences)}. Pass a list of texts to "
                "the tokenizer, or [tokens]."
            )
        if row.ndim != 1 or (len(row) and row.dtype.kind not in "iu"):
            raise ValueError(f"{_MUST}; got {show(sequence)} at place {len(rows)}.")
        rows.append(row.astype(np.int64, copy=False))
    if not rows:
        raise ValueError(f"{_MUST}; got none.")
    return rows


def _read_rows_like(values, name, rows):
    """Return a row of numbers for each row of tokens, of its length."""
    must = f"{name} must have a row for each text and a number for each of its tokens"
    found = list(table_to_rows(values)) if np.iterable(values) else []
    if name == "labels" and not any(map(np.ndim, found)):
        raise ValueError(f"{must}; leave labels of classes out, got {show(values)}.")
    flat = [i for i, one in enumerate(found) if np.ndim(one) != 1]
    if len(found) != len(rows) or flat:
        got = f"{len(found)} rows for {len(rows)} texts"
        if flat:
            is_array = len(flat) == len(found)
            got = f"an array of shape {np.shape(values)}" if is_array else show(found[flat[0]])
            got += "" if is_array else f" for text {flat[0]}"
        raise ValueError(f"{must}; got {got}.")
    found = [to_array(one, name, "hold whole numbers") for one in found]
    for i, (one, row) in enumerate(zip(found, rows, strict=True)):
        if len(one) != len(row) or (len(one) and one.dtype.kind not in "biu"):
            raise ValueError(
                f"{must}; record {i} has {len(row)} tokens and {name} of {len(one)}: {show(one)}."
            )
    return found


def _read_mask(masks, name, rows):
    """Return where a mask of zeros and ones is 1; everywhere without it."""
    if name not in masks:
        return [np.ones(len(row), dtype=bool) for row in rows]
    found = _read_rows_like(masks[name], name, rows)
    for i, one in enumerate(found):
        if len(one) and not np.isin(one, (0, 1)).all():
            raise ValueError(f"{name} must hold 0 and 1; record {i} has {show(one.tolist())}.")
    return [one.astype(bool) for one in found]


def _list_wrong_places(inside):
    """Yield which texts have no tokens, and which have a gap."""
    empty = np.array([not own.any() for own in inside])
    if empty.any():
        yield (
            f"{_MUST}; got no token for {name_rows(empty, 'sequence')} of {len(empty)}, as of an "
            "empty text. Leave what is empty out."
        )
    gaps = np.array([np.flatnonzero(own)[[0, -1]] @ [-1, 1] + 1 != own.sum() for own in inside])
    if gaps.any():
        yield (
            "attention_mask must be 1 at the tokens of a text and 0 before or behind them; "
            f"a gap is in {name_rows(gaps, 'record')}. Give each text a row of its own."
        )


def _check_tokens(texts):
    for i, row in enumerate(texts):
        if row.min() < 0 or row.max() >= GIVEN // 2:
            raise ValueError(
                f"{_MUST}; got {show(row.tolist())} at place {i}. Numbers below 0 that stand for "
                "padding are left out by attention_mask."
            )


def _read_counted_tokens(masks, rows, inside):
    """Return which tokens count, by the labels of a training or the mask of a chat."""
    counts = inside
    if "assistant_masks" in masks:
        own = _read_mask(masks, "assistant_masks", rows)
        if not any(one.any() for one in own):
            raise ValueError(
                "assistant_masks are 0 everywhere: the chat template does not mark what the "
                "assistant says ({% generation %}). Pass n_given, or labels with -100 for the rest."
            )
        counts = [one & other for one, other in zip(counts, own, strict=True)]
    if "labels" in masks:
        labels = _read_rows_like(masks["labels"], "labels", rows)
        refuse_first(_list_wrong_labels(labels, rows, inside))
        kept = [one != _IGNORED for one in labels]
        counts = [one & other for one, other in zip(counts, kept, strict=True)]
    return counts


def _list_wrong_labels(labels, rows, inside):
    """Yield why labels are not the tokens themselves at their own places."""
    n_wrong = n_next = 0
    for label, row, own in zip(labels, rows, inside, strict=True):
        counts = own & (label != _IGNORED)
        n_wrong += int((label != row)[counts].sum())
        n_next += int((label[:-1] != row[1:])[counts[:-1]].sum())
    if n_wrong and n_next == 0:
        yield (
            "labels are shifted: each is the token behind its place. Pass them as transformers "
            "takes them, each token at its own place, with -100 for what does not count."
        )
    if n_wrong:
        wrong = [((a != b) & c & (a != _IGNORED)).any() for a, b, c in zip(labels, rows, inside)]
        yield (
            "labels must be the tokens, with -100 for those that do not count; "
            f"others are in {name_rows(np.array(wrong), 'record')}."
        )


def _count_runs(rows):
    """Return the most frequent first token, and how often each text repeats it at its start."""
    tokens, n_rows = np.unique([row[0] for row in rows], return_counts=True)
    token = tokens[n_rows.argmax()]
    if n_rows.max() * 2 <= len(rows):  # most texts begin otherwise, whatever they repeat
        return token, np.zeros(len(rows), dtype=int)
    return token, np.array([_count_run(row != token) for row in rows])


def _count_run(is_other):
    return int(is_other.argmax()) if is_other.any() else len(is_other)


def warn_of_padding(rows, *, longest=_LONGEST_RUN, can_share=False):
    """Say that one repeated token behind, or before, most texts is counted as text.

    can_share: whether all rows may have an end in common, as candidates of a canary have.
    """
    for end, sides in (("end in", [row[::-1] for row in rows]), ("begin with", rows)):
        if len(rows) < 2:
            return
        token, runs = _count_runs(sides)
        padded = runs >= _SHORTEST_RUN
        is_even = (runs == runs[0]).all() and len({len(row) for row in rows}) > 1
        is_shared = is_even or (can_share and padded.all())
        if padded.mean() > 0.5 and runs.max() >= longest and not is_shared:
            warnings.warn(
                f"{padded.sum()} of {len(rows)} sequences {end} the token {token}, repeated up "
                f"to {runs.max()} times, as padding is; it counts as text. Pass all that the "
                "tokenizer returns, token_records(tokenizer(texts, padding=True)), or its "
                "attention_mask.",
                UserWarning,
                stacklevel=level_of_user(),
            )
            return


def warn_of_padded_query(tokens):
    """Say that rows which a victim is asked about end, or begin, like padded ones."""
    if len(tokens) >= _FEWEST_TEXTS:
        warn_of_padding(tokens, longest=_LONGEST_OF_QUERY, can_share=True)


def _warn_of_double_start(rows):
    """Say that each text begins with the same token twice, as two starts do; return whether."""
    token, runs = _count_runs(rows)
    is_double = len(rows) >= _FEWEST_TEXTS and runs.min() == 2 and (runs == 2).mean() > 0.5
    if is_double:
        warnings.warn(
            f"Each text begins with the token {token} twice, as where a chat template and the "
            "tokenizer both put a start token before it: pass add_special_tokens=False to the "
            "tokenizer.",
            UserWarning,
            stacklevel=level_of_user(),
        )
    return is_double


def warn_of_cuts(lengths, longest):
    """Say how many texts are longer than a model reads."""
    n_long = int((np.asarray(lengths) > longest).sum())
    warnings.warn(
        f"{n_long:,} of {len(lengths):,} texts are longer than the {longest:,} tokens that the "
        "model reads and were cut; what is behind them does not count.",
        UserWarning,
        stacklevel=level_of_user(),
    )


def make_records(texts, length=None, **fields):
    """Return the records of texts that were read."""
    X = stack_tokens(texts.rows, texts.counts, length)
    outputs = fields.get("outputs")
    lengths = np.array([len(row) for row in texts.rows])
    if isinstance(outputs, TokenOutputs) and len(outputs) == len(lengths):
        is_partial = not all(own.all() for own in (*texts.counts, *texts.inside))
        is_padded = outputs.log_proba.shape[1] == lengths.max()
        is_padded &= (count_row_lengths(outputs.log_proba) > lengths).any()
        if is_partial or is_padded:
            fields = {**fields, "outputs": _arrange(outputs, texts)}
    return Records(X, np.zeros(len(X), dtype=np.int64), **{**fields, LENGTHS: lengths})


def _arrange(outputs, texts):
    width = max(map(len, texts.inside))
    inside = np.zeros((2, len(texts.rows), width), dtype=bool)
    for i, (own, counts) in enumerate(zip(texts.inside, texts.counts, strict=True)):
        inside[0, i, : len(own)] = own
        inside[1, i, np.flatnonzero(own)] = counts
    return arrange_outputs(outputs, *inside)


def token_records(
    sequences: "Sequence[ArrayLike] | ArrayLike | Mapping[str, Any]",
    *,
    attention_mask: ArrayLike | Sequence[ArrayLike] | None = None,
    labels: ArrayLike | Sequence[ArrayLike] | None = None,
    n_given: int | ArrayLike | None = None,
    length: int | None = None,
    **fields: ArrayLike,
) -> Records:
    """Make records of sequences of tokens, which may differ in length.

    ``X`` is a matrix of token ids with -1 behind the last token of each sequence, and the field
    ``n_tokens`` holds the lengths. A token that does not count, such as one of a prompt, is stored
    minus 1,000,000,000, so that every victim and every shadow model leaves it out. Texts have no
    task label, so all labels are 0. Checks that look at the records without the victim, such as
    :func:`skmia.report.blind_baseline`, see the counts of the tokens of such records instead of
    positions.

    Parameters
    ----------
    sequences : mapping, or sequence of n array-likes of int
        What a tokenizer returned for a list of texts, with ``input_ids``, or a table with such a
        column; its ``attention_mask``, ``labels`` and ``assistant_masks`` are read as well. Or the
        token ids from 0 on, at least one for each sequence.
    attention_mask : array-like of shape (n, length), default=None
        1 for tokens and 0 for padding, before or behind them. If None, that of the mapping, or all
        are tokens.
    labels : array-like of shape (n, length), default=None
        Labels of a training: the tokens, with -100 for those that do not count, at the place of
        their own token. If None, those of the mapping, or all tokens count.
    n_given : int or array-like of shape (n,), default=None
        Number of tokens at the start of each sequence that do not count, such as a prompt. The
        model reads them, and no signal does. If None, 0.
    length : int, default=None
        Number of columns of ``X``. If None, the length of the longest sequence. Records can be
        joined, and recognized again, if they have the same number of columns.
    **fields : array-like of length n
        Further facts per record, such as ``record_id``, ``group_by`` and ``text``, which
        :class:`~skmia.signals.sequences.ZlibRatio` reads. :class:`TokenOutputs` in the field
        ``outputs`` may have the columns of the padded rows; padding and given tokens are left out.

    Returns
    -------
    records : Records

    Raises
    ------
    ValueError
        If something is not a sequence of tokens, is empty, is longer than `length`, or has no
        token that counts.

    Warns
    -----
    UserWarning
        If most sequences end or begin in one repeated token and there is no mask, if each begins
        with the same token twice, or if a field has the index of the sequences in another order.

    See Also
    --------
    SequenceVictim : A language model as a victim.

    Examples
    --------
    >>> from skmia.memorization import token_records
    >>> records = token_records([[5, 1, 4], [2, 2]], text=["to be or", "not not"])
    >>> records.X
    array([[ 5,  1,  4],
           [ 2,  2, -1]])
    >>> records["n_tokens"]
    array([3, 2])
    >>> padded = {"input_ids": [[5, 1, 4], [0, 2, 2]], "attention_mask": [[1, 1, 1], [0, 1, 1]]}
    >>> token_records(padded).X
    array([[ 5,  1,  4],
           [ 2,  2, -1]])
    """
    own = {"attention_mask": attention_mask, "labels": labels, "n_given": n_given, **fields}
    warn_of_index(sequences, "sequences", own)
    texts = read_texts(sequences, attention_mask, labels, n_given)
    return make_records(texts, length, **fields)


def warn_of_index(texts, name, given):
    """Warn if values of pandas have the index of texts in another order."""
    warn_of_rows(getattr(texts, "index", None), given, f"index of {name}", f"{name}.index")


def read_matrix(sequences, name="Sequences"):
    """Return the tokens of sequences of one length or several, as a matrix like that of records."""
    sequences = open_table(sequences)
    is_matrix = not _is_mapping(sequences) and not _is_ragged(sequences)
    tokens = to_array(sequences, name, "be an array of whole numbers") if is_matrix else None
    if tokens is None or (tokens.ndim == 1 and tokens.dtype == object):  # of lists, as of a column
        texts = read_texts(sequences)
        return stack_tokens(texts.rows, texts.counts)
    if tokens.ndim == 2 and tokens.size and tokens.dtype.kind in "iu" and tokens.min() >= 0:
        warn_of_padded_query(tokens)
    return tokens


def _is_ragged(sequences):
    rows = sequences if isinstance(sequences, list | tuple) else ()
    return len({len(row) for row in rows if hasattr(row, "__len__")}) > 1
