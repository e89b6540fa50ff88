"""Small functions of memorization at the limits of their branches, with answers by hand."""

from types import SimpleNamespace as NS

import numpy as np
import pytest
from by_hand import expect_answers, tell_refusal
from defaults import compare_defaults_of
from numpy import array, inf, nan

from skmia.memorization import _exposure, _format, _model, _texts, _torch, _victims

PAIRS, PAIR = _format.CanaryFormat("##", "ab", alphabet="ab"), array([[1, 2]])
NOT_WHOLE = "a whole number of 0 and above, or one for each of 2 canaries; got "
untrained = _victims.FunctionSequenceVictim(len)
listed = _exposure.CandidateList([[3, 4], [1, 2], [3, 4], [3, -1]])


def len_of_each(sequences):
    return [float(len(one)) for one in sequences]


# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _exposure: [
        (lambda: listed.n_candidates, 3),
        (lambda: listed.candidates(), [[1, 2], [3, -1], [3, 4]]),
        (lambda: listed.candidates(1), [[3, -1], [3, 4]]),
        (lambda: listed.candidates(1, 2), [[3, -1]]),
        (lambda: listed.encode([[3], [1]]), [[3, -1], [1, -1]]),
        (lambda: listed.encode([[1, 2]]), [[1, 2]]),
        (lambda: listed.encode([[1, 2, 3]]), [[1, 2, 3]]),
        (lambda: listed.position([[3, 4], [1, 2]]), [2, 0]),
        (lambda: listed.position([[3]]), [1]),
        (
            lambda: tell_refusal(lambda: listed.position([[3, 4], [3, 5]])),
            "The sequence [3, 5] is not among the candidates.",
        ),
        (lambda: np.isin(listed.sample(40, random_state=0)[:, 0], [1, 3]).all(), True),
        (lambda: len(np.unique(listed.sample(40, random_state=0), axis=0)), 3),
        (lambda: _exposure.measure_log_perplexity(len_of_each, [[1], [2, 3]]), [1.0, 2.0]),
        (
            lambda: tell_refusal(
                lambda: _exposure.measure_log_perplexity(lambda x: [1.0], [[1], [2]])
            ),
            "log_perplexity must return a number for each of 2 sequences; got an array of shape "
            "(1,).",
        ),
        (
            lambda: tell_refusal(
                lambda: _exposure.measure_log_perplexity(lambda x: [nan, 1.0], [[1], [2]])
            ),
            "log_perplexity must return a number for each of 2 sequences; got an array of shape "
            "(2,) with NaN.",
        ),
        (lambda: _exposure.measure_all(lambda rows: rows[:, 0] * 0.5, listed), [0.5, 1.5, 1.5]),
        (
            lambda: _exposure.bound_rounding(array([0.0, 6.0, -6.0, inf, -inf]), 2) * 2.0**52,
            [8.0, 32.0, 32.0, 0.0, 0.0],
        ),
        (lambda: _exposure._log_density(array([0.0, 1.0]), 0.0), [-0.918938533, -1.41893853]),
        (lambda: _exposure._hazard(array([0.0])), [0.797884561]),
    ],
    _model: [
        (
            lambda: tell_refusal(lambda: _model.NGramModel(2, n_tokens=3).score([]))[:41],
            "This NGramModel instance is not fitted ye",
        ),
        (
            lambda: tell_refusal(lambda: _model.NGramModel(2, n_tokens=3).fit([[0, 1]]).score([])),
            "X must hold at least 1 token to be scored; got none.",
        ),
        (lambda: _model.check_token_rows(array([[1, 2], [3, -1]])), [[1, 2], [3, -1]]),
        (lambda: _model.check_token_rows(array([[1, 2], [4, -1]])).dtype.name, "int64"),
        (lambda: _model.check_token_rows(array([[1, 2]], dtype=np.int32)), [[1, 2]]),
        (
            lambda: tell_refusal(lambda: _model.check_token_rows(array([[1, 2, -1], [1, -1, 2]]))),
            "Each row must begin with tokens, whole numbers of 0 and above, and may end with -1; "
            "row 1 is [1, -1, 2].",
        ),
        *(
            (lambda X=X: "must" in tell_refusal(lambda: _model.check_token_rows(X)), True)
            for X in (array([1, -1]), array([[[1, -1]]]), array([["a"]]), array([[0.5, -1.0]]))
        ),
        (lambda: _model._nats_to_bits(np.log(array([0.25, 1.0]))), [2.0, 0.0]),
        (lambda: np.signbit(_model._nats_to_bits(array([0.0, 1e-6]))), [False, False]),
        (
            lambda: _model._look_up_counts((array([2, 5]), array([20, 50])), array([1, 2, 5, 9])),
            [0, 20, 50, 0],
        ),
        (
            lambda: tell_refusal(
                lambda: _model.token_moments(NS(token_moments=lambda tokens: tokens), PAIR)
            ),
            "token_moments must return an array of shape (3, 1, 2); got (1, 2).",
        ),
        (lambda: _model.token_moments(NS(token_moments=lambda x: [x] * 3), PAIR), [PAIR * 1.0] * 3),
        (lambda: _model._are_whole_tokens(None), False),
        (lambda: _model._are_whole_tokens(array([1, 2])), True),
        (lambda: _model._are_whole_tokens(array([1.0])), False),
        (lambda: _model._are_whole_tokens(array([])), True),
        (lambda: _model._are_whole_tokens(array([[1]])), False),
        (lambda: _model._nats_to_bits(np.log(array([0.5, 1.0, 0.125]))), [1.0, 0.0, 3.0]),
    ],
    _format: [
        (
            lambda: tell_refusal(lambda: PAIRS.encode("ab")),
            "Expected a sequence of texts; got a single one, 'ab'.",
        ),
        (
            lambda: tell_refusal(lambda: PAIRS.encode([1, 2])),
            "Sequences must be one or more of one length; got [1, 2].",
        ),
        (
            lambda: tell_refusal(lambda: PAIRS.encode([])),
            "Sequences must be one or more of one length; got [].",
        ),
        (
            lambda: tell_refusal(lambda: PAIRS.encode(["ab", "a"])),
            "Sequences must be one or more of one length; got ['ab', 'a'].",
        ),
        (lambda: PAIRS.decode([[0, 1], [1, 1]]), ["ab", "bb"]),
        (
            lambda: tell_refusal(lambda: PAIRS.decode([[0, 2]])),
            "The alphabet has tokens from 0 to 1; got 2.",
        ),
        (
            lambda: tell_refusal(lambda: PAIRS.decode([[0, -1]])),
            "Tokens are whole numbers of 0 and above; got -1.",
        ),
        (
            lambda: tell_refusal(lambda: _format.CanaryFormat([None, 1], [1, 2]).decode([[1, 1]])),
            "Texts need an alphabet; without one, the tokens are the sequence.",
        ),
        (
            lambda: tell_refusal(lambda: _format.insert_canaries(["a"], "pin")),
            "Expected a sequence of canaries; got a single text, 'pin'.",
        ),
        (
            lambda: tell_refusal(lambda: _format.insert_canaries(["a"], 5)),
            "canaries must be a sequence of sequences; got 5.",
        ),
        *(
            (
                lambda n=n: tell_refusal(lambda: _format.insert_canaries(["a"], ["b", "c"], n)),
                f"n_insertions must be {words}.",
            )
            for n, words in (
                (-1, NOT_WHOLE + "-1"),
                (0.5, NOT_WHOLE + "0.5"),
                ([1, 2, 3], NOT_WHOLE + "[1, 2, 3]"),
                ([[1, 2]], NOT_WHOLE + "[[1, 2]]"),
            )
        ),
        (
            lambda: tell_refusal(lambda: _format.insert_canaries(["a"], ["b", "c"], 60_000_000)),
            "n_insertions must add up to at most 100,000,000; got 120,000,000.",
        ),
        (
            lambda: sorted(_format.insert_canaries(["a"], ["b", "c"], [0, 2], random_state=0)),
            ["a", "c", "c"],
        ),
    ],
    _victims: [
        (lambda: tell_refusal(lambda: untrained.predict([[1, 2]]))[-15:], "this estimator."),
        (lambda: tell_refusal(lambda: untrained.score([[1, 2]]))[-15:], "this estimator."),
    ],
    _texts: [
        (lambda: _texts._count_run(array([False, False, True])), 2),
        (lambda: _texts._count_run(array([False, False])), 2),
        (
            lambda: _texts._count_runs([array([7, 7, 1]), array([7, 2]), array([3, 7])]),
            (7, [2, 1, 0]),
        ),
        (lambda: _texts._count_runs([array([7, 7, 1]), array([2, 2])]), (2, [0, 0])),
        (lambda: _texts._is_ragged([[1], [2, 3]]), True),
        (lambda: _texts._is_ragged([[1], [2]]), False),
        (lambda: _texts._is_ragged(array([[1]])), False),
    ],
    _torch: [
        (lambda: _torch._share_start(array([1, 2, 3]), array([1, 2, 4, 5])), 2),
        (lambda: _torch._share_start(array([1, 2]), array([1, 2, 4])), 2),
        (
            lambda: _torch._find_longest(
                NS(config=NS(max_position_embeddings=512)), NS(model_max_length=128), None
            ),
            128,
        ),
        (
            lambda: _torch._find_longest(
                NS(config=NS(max_position_embeddings=512)), NS(model_max_length=1024), 3
            ),
            511,
        ),
        (lambda: _torch._find_longest(NS(), NS(), None), None),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


def test_defaults_are_those_of_the_docstrings():
    from skmia import memorization

    found, n_compared = compare_defaults_of(memorization)
    assert not found
    assert n_compared >= 50
