"""Formats of canaries, their insertion, and what models say about sequences."""

import copy
import pickle
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from refusals import check_refusal, parametrize_refusals
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skmia.memorization import (
    CanaryFormat,
    NGramModel,
    TorchSequenceModel,
    insert_canaries,
    log_perplexity,
    token_records,
)


def test_candidates_are_all_fillings_in_order():
    secrets = CanaryFormat("a##b", "xyz", alphabet="abxyz")
    expected = ["a" + "".join(two) + "b" for two in product("xyz", repeat=2)]
    assert secrets.decode(secrets.candidates()) == expected
    assert secrets.n_candidates == 9 and len(secrets) == 4 and secrets.n_given == 1
    assert secrets.position(expected) == list(range(9))
    assert_array_equal(secrets.candidates(3, 5), secrets.encode(expected[3:5]))


def test_positions_beyond_any_integer_are_enumerated():
    secrets = CanaryFormat([None] * 30, range(10))
    last = secrets.candidates(10**30 - 2)
    assert secrets.position(last) == [10**30 - 2, 10**30 - 1]
    assert_array_equal(last[:, -2:], [[9, 8], [9, 9]])


def test_no_candidates_are_no_texts():
    secrets = CanaryFormat("a##", "ab", alphabet="ab")
    assert secrets.decode(secrets.candidates(2, 2)) == []


@pytest.mark.parametrize("library", ["pandas", "polars", "lazy"])
def test_tables_hold_a_sequence_in_each_row(library):
    other = pytest.importorskip("polars" if library == "lazy" else library)
    frame = other.DataFrame({"first": [0, 2, 3], "second": [1, 1, 0]})
    frame = frame.lazy() if library == "lazy" else frame
    rows = [[0, 1], [2, 1], [3, 0]]
    assert_array_equal(token_records(frame).X, rows)
    assert_array_equal(CanaryFormat([None, None], range(4)).encode(frame), rows)
    known = insert_canaries(np.array(rows), [[9, 9]], 2, random_state=0)
    assert_array_equal(insert_canaries(frame, [[9, 9]], 2, random_state=0), known)
    assert insert_canaries([[5]], frame, [1, 0, 0], random_state=0)[1].tolist() == [0, 1]
    model = NGramModel(2).fit(frame)
    assert_array_equal(model.next_log_proba([[2]]), NGramModel(2).fit(rows).next_log_proba([[2]]))


def test_tokens_need_no_alphabet():
    secrets = CanaryFormat([7, None, 5, None], [3, 1])
    expected = [[7, 1, 5, 1], [7, 1, 5, 3], [7, 3, 5, 1], [7, 3, 5, 3]]
    assert_array_equal(secrets.candidates(), expected)
    with pytest.raises(ValueError, match="Texts need an alphabet"):
        secrets.decode(expected)


def test_samples_are_uniform_and_repeatable():
    secrets = CanaryFormat([None, 0, None], range(3))
    sample = secrets.sample(9_000, random_state=0)
    counts = np.bincount(secrets.position(sample), minlength=9)
    assert ((counts - 1000) ** 2 / 1000).sum() < 26.1  # chi-squared with 8 degrees, 0.1%
    assert_array_equal(sample, secrets.sample(9_000, random_state=0))


@parametrize_refusals(
    (lambda: CanaryFormat("abc", "ab", alphabet="abc"), "has no hole"),
    (lambda: CanaryFormat("a#", "aa", alphabet="abc"), "2 or more different tokens"),
    (lambda: CanaryFormat("a#", "ax", alphabet="abc"), "The alphabet has no 'x'"),
    (lambda: CanaryFormat("a#", "ab"), "needs the alphabet"),
    (lambda: CanaryFormat([1, None], [0, -1]), "0 and above"),
    (lambda: CanaryFormat([1, None], [0, 1.5]), r"0 and above; got \[0, 1.5\]"),
    (
        lambda: CanaryFormat(5, "ab", alphabet="ab"),
        "template must be a text or a sequence .* got 5",
    ),
    (lambda: CanaryFormat(b"a#", "ab", alphabet="ab"), "template must be .* got b'a#'"),
    (lambda: CanaryFormat([1, None], np.eye(2, dtype=int)), "fill must be a text or a sequence"),
    (
        lambda: CanaryFormat("a#", "ab", alphabet="ab").decode([[0, 1], [0, 2]]),
        "The alphabet has tokens from 0 to 1; got 2",
    ),
    (
        lambda: CanaryFormat([None], range(3)).candidates(-1),
        "start must be a position, an integer of 0 or more; got -1",
    ),
    (lambda: CanaryFormat([None], range(3)).candidates(0, 1.5), "stop must be a position"),
    (lambda: CanaryFormat([None], range(3)).sample(-1), "n_samples must be an integer of 0"),
    (lambda: insert_canaries("abc", ["d"]), "Expected a sequence of sequences; got a single text"),
    (
        lambda: insert_canaries({"input_ids": [[1]]}, [[2]]),
        "sequences must be a sequence of sequences; got {'input_ids'",
    ),
    (lambda: NGramModel().fit(""), "X must be a sequence of sequences of whole numbers; got ''"),
    (lambda: NGramModel().fit([[0], ["a"]]), "X must be a sequence of sequences of whole numbers"),
    (lambda: NGramModel().fit([[]]), "got none"),
    (lambda: NGramModel().fit([[0, -1]]), "got -1 to 0"),
    (lambda: NGramModel(n_tokens=3).fit([[0, 3]]), "from 0 to 2; got 0 to 3"),
    (lambda: NGramModel(order=63).fit([[0]]), "Runs of 63 out of 1 tokens have too many values"),
    (lambda: NGramModel(order=0).fit([[0, 1]]), "'order' parameter of NGramModel"),
    (lambda: NGramModel(order=8).fit([[0, 255]]), "too many values"),
)
def test_wrong_arguments_are_refused(call, words, error):
    check_refusal(call, words, error)


def test_insertion_keeps_the_order_and_counts_copies():
    lines, canaries = [f"line {i}" for i in range(50)], ["one", "two", "three"]
    training = insert_canaries(lines, canaries, [3, 0, 5], random_state=0)
    assert [line for line in training if line not in canaries] == lines
    assert [training.count(one) for one in canaries] == [3, 0, 5]
    assert training == insert_canaries(lines, canaries, [3, 0, 5], random_state=0)
    assert insert_canaries(lines, canaries, 0) == lines


def test_insertion_places_are_uniform():
    lines, places = ["x"] * 4, np.zeros(5)
    for seed in range(500):
        places[insert_canaries(lines, ["c"], random_state=seed).index("c")] += 1
    assert ((places - 100) ** 2 / 100).sum() < 18.5  # chi-squared with 4 degrees, 0.1%


def test_arrays_stay_arrays_of_their_type():
    lines = np.arange(12, dtype=np.int32).reshape(4, 3)
    training = insert_canaries(lines, [[0, 0, 0]], 2, random_state=0)
    assert training.shape == (6, 3) and training.dtype == np.int32
    ragged = insert_canaries(lines, [[0, 0]], 2, random_state=0)
    assert isinstance(ragged, list) and len(ragged) == 6


@pytest.mark.parametrize(
    "dtype, canary",
    [
        (np.uint8, [255, 300, 2]),
        (np.uint8, [-1, 0, 2]),
        (np.int64, [0.7, 1.0, 2.0]),
        (bool, [2, 0, 1]),
        (np.float16, [1e6, 0.0, 1.0]),
    ],
)
def test_canaries_that_the_type_of_the_sequences_cannot_hold_are_refused(dtype, canary):
    lines = np.zeros((2, 3), dtype=dtype)
    with pytest.raises(ValueError, match=f"canaries must be values of {lines.dtype}.*holds both"):
        insert_canaries(lines, [canary])


@pytest.mark.parametrize(
    "lines, canary",
    [
        (np.array(["to be", "or"]), "pin 123456"),
        (np.array([b"to be", b"or"]), b"pin 123456"),
        (np.array([["ab", "cd"]]), ["pin 1234", "x"]),
        (np.zeros((2, 2), dtype=np.uint8), [255, 0]),
        (np.zeros((2, 2), dtype=np.float16), [0.5, 0.0]),
        (np.zeros((2, 2), dtype=object), ["a", None]),
    ],
)
def test_canaries_come_out_of_arrays_as_they_were(lines, canary):
    training = insert_canaries(lines, [canary], 2, random_state=0)
    assert training.dtype.kind == lines.dtype.kind
    assert training.tolist().count(canary) == 2
    assert np.float32(0.1) in insert_canaries(np.zeros((1, 1), dtype=np.float32), [[0.1]])


@pytest.mark.parametrize("n_insertions", [-1, 1.5, [1, 2]])
def test_bad_numbers_of_insertions_are_refused(n_insertions):
    with pytest.raises(ValueError, match="n_insertions must be a whole number"):
        insert_canaries(["a"], ["b"], n_insertions)


def slow_ngram(sequences, prefix, token, order, n_tokens, smoothing):
    """The same probability from a loop over the text."""
    proba = 1 / n_tokens
    for length in range(order):
        context = (["start"] * order + list(prefix))[len(prefix) + order - length :]
        seen = matched = 0
        for sequence in sequences:
            padded = ["start"] * order + list(sequence)
            for i in range(order, len(padded)):
                if padded[i - length : i] == context:
                    seen += 1
                    matched += padded[i] == token
        if seen + smoothing > 0:
            proba = (matched + smoothing * proba) / (seen + smoothing)
    return proba


@pytest.mark.parametrize("order, smoothing", [(1, 1.0), (2, 0.5), (4, 2.0), (3, 0.0)])
def test_ngram_probabilities_by_a_loop_over_the_text(order, smoothing):
    rng = np.random.default_rng(0)
    sequences = [rng.integers(3, size=length).tolist() for length in (5, 1, 0, 8, 7)]
    model = NGramModel(order, n_tokens=4, smoothing=smoothing).fit(sequences)
    for prefix in ([], [0], [2, 1], [1, 1, 0, 2, 1]):
        got = np.exp(model.next_log_proba(np.array([prefix], dtype=int)))[0]
        expected = [slow_ngram(sequences, prefix, t, order, 4, smoothing) for t in range(4)]
        assert_allclose(got, expected, rtol=1e-12)
        assert got.sum() == pytest.approx(1)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_ngram_probabilities_of_whole_sequences_are_those_of_the_next_tokens(order):
    rng = np.random.default_rng(0)
    model = NGramModel(order).fit(rng.integers(4, size=(30, 6)))
    sequences = rng.integers(4, size=(5, 6))
    one_by_one = [
        model.next_log_proba(sequences[:, :i])[np.arange(5), sequences[:, i]] for i in range(6)
    ]
    for n_given in (0, 2, 6):
        got = model.token_log_proba(sequences, n_given)
        assert_allclose(got, np.reshape(one_by_one[n_given:], (6 - n_given, 5)).T, rtol=1e-12)
    with pytest.raises(ValueError, match="knows tokens from 0 to 3; got 0 to 4"):
        model.token_log_proba([[0, 4]])


def test_ngram_is_an_ordinary_estimator():
    model = NGramModel(2)
    with pytest.raises(NotFittedError):
        model.next_log_proba([[0]])
    assert clone(model.fit([[0, 1]])).get_params() == model.get_params()


class Half:
    """Answers of the wrong shape."""

    def next_log_proba(self, prefixes):
        return np.zeros((1, 2))


class Odd:
    """Numbers that are no log-probabilities."""

    def next_log_proba(self, prefixes):
        return np.ones((len(prefixes), 2))


class Flat:
    """Answers with one number for each prefix."""

    def next_log_proba(self, prefixes):
        return np.full(len(prefixes), -1.0)


class Unsure:
    """Answers that are no number."""

    def next_log_proba(self, prefixes):
        return np.full((len(prefixes), 2), np.nan)


class Even:
    """Knows two tokens."""

    def next_log_proba(self, prefixes):
        return np.full((len(prefixes), 2), -np.log(2))


class Whole(Even):
    """Answers about the given tokens too."""

    def token_log_proba(self, sequences, n_given):
        return np.full(sequences.shape, -np.log(2))


@parametrize_refusals(
    (lambda model: log_perplexity(object(), [[0]]), "needs a method next_log_proba", TypeError),
    (lambda model: log_perplexity(model, [[0.5]]), "array of whole numbers"),
    (lambda model: log_perplexity(model, [[0, -2]]), "0 and above, and may end with -1; row 0"),
    (
        lambda model: log_perplexity(model, [[0, 1]], n_given=3),
        "n_given must be between 0 and the 2 tokens",
    ),
    (lambda model: log_perplexity(model, [0, 1]), "one row for each and all of one length"),
    (lambda model: log_perplexity(model, [[], []]), "one row for each and all of one length"),
    (lambda model: log_perplexity(Half(), [[0], [1]]), "with a row for each prefix; got"),
    (
        lambda model: log_perplexity(Flat(), [[0], [1]]),
        r"\(2, n_tokens\), .*; got one of shape \(2,\)",
    ),
    (lambda model: log_perplexity(Odd(), [[0]]), "numbers of at most 0"),
    (lambda model: log_perplexity(Unsure(), [[0]]), "numbers of at most 0"),
    (lambda model: log_perplexity(Even(), [[0, 2]]), "knows tokens from 0 to 1; got 2"),
    (
        lambda model: log_perplexity(Whole(), [[0, 1]], n_given=1),
        r"token_log_proba must return an array of shape \(1, 1\), .*; got one of shape \(1, 2\)",
    ),
)
def test_bad_models_and_sequences_are_named(call, words, error):
    model = NGramModel(1).fit([[0, 1]])
    check_refusal(call, words, error, model)


@pytest.fixture(scope="module")
def net():
    torch = pytest.importorskip("torch")

    class Reader(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(6, 5)
            self.recurrent = torch.nn.GRU(5, 7, batch_first=True)
            self.dropout = torch.nn.Dropout(0.5)
            self.output = torch.nn.Linear(7, 6)

        def forward(self, tokens):
            return self.output(self.dropout(self.recurrent(self.embedding(tokens))[0]))

    torch.manual_seed(0)
    return Reader()


@pytest.mark.parametrize("start_token", [None, 5])
def test_a_net_in_one_pass_and_token_by_token(net, start_token):
    model = TorchSequenceModel(net, start_token=start_token, batch_size=3)
    sequences = np.random.default_rng(0).integers(5, size=(8, 4))

    class OneByOne:
        next_log_proba = staticmethod(model.next_log_proba)

    for n_given in (0, 2, 4):
        expected = log_perplexity(OneByOne(), sequences, n_given=n_given)
        assert_allclose(log_perplexity(model, sequences, n_given=n_given), expected, rtol=1e-5)
    one = log_perplexity(model, sequences[:, :1])
    assert_allclose(one, log_perplexity(OneByOne(), sequences[:, :1]), rtol=1e-5)


def test_a_net_answers_in_evaluation_mode_and_is_left_as_it_was(net):
    net.train()
    model = TorchSequenceModel(net)
    first, second = (log_perplexity(model, [[0, 1, 2]]) for _ in range(2))
    assert_array_equal(first, second)
    assert net.training


def test_a_net_may_return_more_than_logits(net):
    torch = pytest.importorskip("torch")

    class Wrapped(torch.nn.Module):
        def __init__(self, wrap):
            super().__init__()
            self.inner, self.wrap = net, wrap

        def forward(self, tokens):
            return self.wrap(self.inner(tokens))

    class Output:
        def __init__(self, logits):
            self.logits = logits

    expected = log_perplexity(TorchSequenceModel(net), [[0, 1, 2]])
    for wrap in (lambda logits: (logits, None), Output):
        assert_array_equal(log_perplexity(TorchSequenceModel(Wrapped(wrap)), [[0, 1, 2]]), expected)
    with pytest.raises(ValueError, match="must return tokens of shape"):
        log_perplexity(TorchSequenceModel(Wrapped(lambda logits: logits[:, -1])), [[0, 1, 2]])


def test_a_net_is_not_copied_by_clone_and_can_be_pickled():
    torch = pytest.importorskip("torch")
    from skmia.memorization import Exposure

    model = TorchSequenceModel(torch.nn.Sequential(torch.nn.Embedding(4, 4)))
    assert clone(Exposure(model, [[0, 1]])).log_perplexity is model
    assert copy.deepcopy(model) is model
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(log_perplexity(again, [[0, 1]]), log_perplexity(model, [[0, 1]]))
    with pytest.raises(TypeError, match="torch.nn.Module"):
        TorchSequenceModel("net")
    with pytest.raises(ValueError, match="batch_size"):
        TorchSequenceModel(model.module, batch_size=0)


def test_errors_of_a_net_are_its_own_unless_they_are_of_its_size(net):
    torch = pytest.importorskip("torch")

    class Failing(torch.nn.Module):
        def __init__(self, error):
            super().__init__()
            self.error = error

        def forward(self, tokens):
            raise self.error

    for error in (IndexError("index"), AssertionError(), RuntimeError("The size of tensor a (3)")):
        with pytest.raises(ValueError, match="cannot read sequences of 3 tokens from 0 to 2"):
            log_perplexity(TorchSequenceModel(Failing(error)), [[0, 1, 2, 0]])
    with pytest.raises(RuntimeError, match="out of memory"):
        log_perplexity(TorchSequenceModel(Failing(RuntimeError("out of memory"))), [[0, 1]])
    model = TorchSequenceModel(net, max_length=3)
    log_perplexity(model, [[0, 1, 2]])
    with pytest.raises(ValueError, match="reads 3 tokens at most; got a sequence of 4"):
        log_perplexity(model, [[0, 1, 2, 3]])


@pytest.mark.parametrize("start_token", [None, 2])
@pytest.mark.parametrize("tokens", [[0, 1, 6], [6], [6, 1]])
def test_tokens_that_a_net_has_no_logits_of_are_refused(net, tokens, start_token):
    model = TorchSequenceModel(net, start_token=start_token)
    for answer in (model.token_log_proba, model.token_moments):
        with pytest.raises(ValueError, match="got the token 6|fewer tokens"):
            answer([tokens])


@pytest.mark.parametrize("start_token", ["<s>", 1.5, -1])
def test_a_start_token_is_a_number(net, start_token):
    with pytest.raises(ValueError, match="start_token must be None or the number of a token"):
        TorchSequenceModel(net, start_token=start_token)


@pytest.mark.filterwarnings("error")
def test_a_net_answers_about_arrays_that_cannot_be_written_to(net):
    tokens = np.array([[0, 1, 2]])
    tokens.flags.writeable = False
    assert TorchSequenceModel(net).token_log_proba(tokens).shape == (1, 3)


@pytest.mark.parametrize("n_given", [-1, 3, 0.5])
def test_given_tokens_are_a_number_of_those_of_a_sequence(net, n_given):
    for model in (NGramModel(2).fit([[0, 1]]), TorchSequenceModel(net)):
        with pytest.raises(ValueError, match="n_given must be between 0 and the 2 tokens"):
            model.token_log_proba([[0, 1]], n_given)


def test_predictions_and_scores_of_counts_by_hand():
    model = NGramModel(1, smoothing=0).fit([[0, 0, 1], [2, 0]])  # 3/5, 1/5, 1/5
    assert model.predict([[1, 1], [], [2]]).tolist() == [0, 0, 0]
    expected = np.mean(np.log([3 / 5, 1 / 5, 1 / 5]))
    assert model.score([[0, 1], [2]]) == pytest.approx(expected)
    pairs = NGramModel(2, smoothing=0).fit([[0, 1, 2, 0, 1]])
    assert pairs.predict([[0], [2, 1], [1, 2]]).tolist() == [1, 2, 0]
    assert pairs.score([[0, 1, 2]]) == 0.0
    assert pairs.score([[0, 2]]) == -np.inf
    with pytest.raises(ValueError, match="at least 1 token"):
        pairs.score([[]])


def test_the_largest_tokens_and_orders_are_taken():
    assert CanaryFormat("a#", "ab", alphabet="ab").decode([[0, 1]]) == ["ab"]
    assert NGramModel(n_tokens=3).fit([[0, 2]]).n_tokens_ == 3
    assert NGramModel(order=62).fit([[0]]).n_tokens_ == 1
