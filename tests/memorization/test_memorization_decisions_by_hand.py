"""Bits, masks and gaps of sequences, each decision with an answer by hand."""

import warnings
from types import SimpleNamespace as NS

import numpy as np
import pytest
from by_hand import expect_answers
from numpy import array
from scipy.stats import skewnorm

from skmia.memorization import _exposure, _format, _model, _texts

LOG = np.log


class Table:
    """Tells the next token of 0, 1 and 2 by the last one."""

    rows = array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.25, 0.5, 0.25]])

    def next_log_proba(self, prefixes):
        prefixes = np.asarray(prefixes)
        last = prefixes[:, -1] if prefixes.shape[1] else np.zeros(len(prefixes), dtype=int)
        return LOG(self.rows[last])


class Whole(Table):
    """Tells all tokens at once, as half as many bits each as a table."""

    def token_log_proba(self, tokens, n_given):
        return np.full((len(tokens), tokens.shape[1] - n_given), LOG(0.5))


def refuse(call):
    try:
        return call()
    except ValueError as error:
        return str(error)[:40]


def read_tokens(sequence, alphabet=None):
    return refuse(lambda: _format.CanaryFormat._tokens(NS(alphabet=alphabet), sequence))


def read_mask(masks, rows=((5, 6), (7,))):
    return refuse(lambda: [one.tolist() for one in _texts._read_mask(masks, "m", list(rows))])


def list_gaps(*inside):
    return [
        one[:45] for one in _texts._list_wrong_places([array(one, dtype=bool) for one in inside])
    ]


def warn_of_start(*rows):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = _texts._warn_of_double_start([array(one) for one in rows])
    return bool(found), [str(one.message)[:41] for one in caught]


def warn_of_cuts(lengths, longest):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _texts.warn_of_cuts(lengths, longest)
    return str(caught[0].message)[:54]


def start_from_moments(shape):
    """Start from the moments of many draws, which have those of the law."""
    draws = skewnorm(shape).rvs(200_000, random_state=0)
    z = (draws - draws.mean()) / draws.std()
    found = _exposure._start_from_moments(z)
    law = skewnorm(found[0], found[1], np.exp(found[2]))
    return (
        bool(abs(found[0] - shape) < 0.1),
        bool(abs(law.mean()) < 0.01),
        bool(abs(law.std() - 1) < 0.01),
    )


TOKENS = array([[0, 1, 1], [2, 2, 0]])
DOUBLE = [[9, 9, 1], [9, 9, 2], [9, 9, 3], [9, 9, 4]] * 5

# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _model: [
        (lambda: _model.next_bits(Table(), [[0]]), [[1.0, 2.0, 2.0]]),
        (
            lambda: refuse(
                lambda: _model.next_bits(NS(next_log_proba=lambda p: np.zeros((2, 3))), [[0]])
            ),
            "next_log_proba must return an array of s",
        ),
        (
            lambda: refuse(
                lambda: _model.next_bits(NS(next_log_proba=lambda p: np.zeros(1)), [[0]])
            ),
            "next_log_proba must return an array of s",
        ),
        (
            lambda: _model.token_bits(Table(), TOKENS, 0),
            -np.log2(array([[0.5, 0.25, 0.75], [0.25, 0.25, 0.25]])),
        ),
        (lambda: _model.token_bits(Table(), TOKENS, 2), -np.log2(array([[0.75], [0.25]]))),
        (lambda: _model.token_bits(Table(), TOKENS, 3).shape, (2, 0)),
        (lambda: _model.token_bits(Whole(), TOKENS, 1), [[1.0, 1.0], [1.0, 1.0]]),
        (lambda: _model.sum_bits(Table(), TOKENS, 1), -np.log2([0.25 * 0.75, 0.25 * 0.25])),
        (
            lambda: _model.sum_bits(Table(), array([[0, 1, -1], [2, 2, 0]])),
            -np.log2([0.5 * 0.25, 0.25**3]),
        ),
        (
            lambda: _model.sum_bits(Table(), TOKENS, array([1, 2])),
            -np.log2([0.25 * 0.75, 0.25]),
        ),
        (
            lambda: _model.token_moments(Table(), array([[0, 1]]))[:, 0],
            [
                [LOG(0.5), LOG(0.25)],
                [-1.5 * LOG(2)] * 2,
                [(0.5 * 0.25 + 0.5 * 0.25) ** 0.5 * LOG(2)] * 2,
            ],
        ),
    ],
    _format: [
        (lambda: read_tokens([3, 5]), [3, 5]),
        (lambda: read_tokens([]), []),
        (lambda: read_tokens("ba", "abc"), [1, 0]),
        (lambda: read_tokens(["c"], "abc"), [2]),
        (lambda: read_tokens("ab"), "A text needs the alphabet that its token"),
        (lambda: read_tokens("ax", "abc"), "The alphabet has no 'x', which is in 'ax"),
        (lambda: read_tokens([3, -1]), "Tokens are whole numbers of 0 and above;"),
        (lambda: read_tokens([3, 0.5]), "Tokens are whole numbers of 0 and above;"),
        (lambda: read_tokens("", "abc"), "Tokens are whole numbers of 0 and above;"),
        (
            lambda: refuse(lambda: _format._check_sequence(b"a", "it")),
            "it must be a text or a sequence of token",
        ),
        (
            lambda: refuse(lambda: _format._check_sequence(5, "it")),
            "it must be a text or a sequence of token",
        ),
        (
            lambda: refuse(lambda: _format._check_sequence(np.zeros((1, 1)), "it")),
            "it must be a text or a sequence of token",
        ),
        (lambda: _format._check_sequence("a", "it"), None),
        (lambda: _format._check_sequence(np.zeros(2), "it"), None),
    ],
    _texts: [
        (lambda: read_mask({}), [[True, True], [True]]),
        (lambda: read_mask({"m": [[1, 0], [0]]}), [[True, False], [False]]),
        (lambda: read_mask({"m": [[1, 0], [2]]}), "m must hold 0 and 1; record 1 has [2]."),
        (lambda: list_gaps([0, 1, 1], [1, 1], [1]), []),
        (lambda: list_gaps([1, 0, 1])[0], "attention_mask must be 1 at the tokens of a t"),
        (lambda: list_gaps([0, 1, 1, 0, 1], [1])[0][:14], "attention_mask"),
        (lambda: warn_of_start(*DOUBLE), (True, ["Each text begins with the token 9 twice, "])),
        (
            lambda: warn_of_start(*DOUBLE, [9, 9, 9]),
            (True, ["Each text begins with the token 9 twice, "]),
        ),
        (lambda: warn_of_start(*DOUBLE, [9, 1, 2]), (False, [])),
        (lambda: warn_of_start(*[[9, 9, 9, 1]] * 20), (False, [])),
        (lambda: warn_of_start(*DOUBLE[: _texts._FEWEST_TEXTS - 1]), (False, [])),
        (lambda: warn_of_start(*(DOUBLE * 9)[: _texts._FEWEST_TEXTS])[0], True),
        (
            lambda: warn_of_cuts([5, 6, 7], 5),
            "2 of 3 texts are longer than the 5 tokens that the mod",
        ),
        (lambda: _texts._check_tokens([array([0, 5])]), None),
        (lambda: refuse(lambda: _texts._check_tokens([array([0]), array([5, -1])])) is None, False),
        (lambda: _texts._check_tokens([array([_texts.GIVEN // 2 - 1])]), None),
        (lambda: refuse(lambda: _texts._check_tokens([array([_texts.GIVEN // 2])])) is None, False),
    ],
    _exposure: [
        (lambda: start_from_moments(3.0), (True, True, True)),
        (lambda: start_from_moments(-2.0), (True, True, True)),
        (
            lambda: refuse(lambda: _exposure.fit_skew_normal(np.ones(5))),
            "A skew-normal distribution is fitted to ",
        ),
        (lambda: len(_exposure.fit_skew_normal(np.arange(9.0))), 3),
        (
            lambda: _exposure._in_chunks(lambda rows: rows * 2, np.arange(_exposure.CHUNK + 3)),
            np.arange(_exposure.CHUNK + 3) * 2,
        ),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])
