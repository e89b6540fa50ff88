"""Texts as tokenizers return them: padding, prompts, and what users mix up."""

import warnings
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from refusals import check_refusal, parametrize_refusals

from skmia import ShadowPool
from skmia.attacks import ThresholdAttack
from skmia.memorization import (
    Exposure,
    FunctionSequenceVictim,
    NGramModel,
    SequenceVictim,
    TokenOutputs,
    TorchSequenceModel,
    TransformersModel,
    insert_canaries,
    log_perplexity,
    token_records,
)
from skmia.report import blind_baseline
from skmia.signals.sequences import (
    MinK,
    MinKPlusPlus,
    Neighborhood,
    ReCaLL,
    ReferenceRatio,
    SurprisingTokens,
    WindowVotes,
    ZlibRatio,
)

NAN = np.nan
EOS = 0
GIVEN = 1_000_000_000


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    return [[*rng.integers(1, 12, rng.integers(4, 15)).tolist(), EOS] for _ in range(40)]


@pytest.fixture(scope="module")
def victim(texts):
    return SequenceVictim(NGramModel(3, n_tokens=12).fit(texts[:20]))


def pad(rows, side="right", width=None, fill=EOS):
    """What a tokenizer returns with padding=True."""
    width = max(map(len, rows)) if width is None else width
    ids, masks = [], []
    for row in rows:
        more = [fill] * (width - len(row))
        ids.append([*row, *more] if side == "right" else [*more, *row])
        mask, none = [1] * len(row), [0] * len(more)
        masks.append([*mask, *none] if side == "right" else [*none, *mask])
    return {"input_ids": ids, "attention_mask": masks}


SIGNALS = [
    "loss",
    MinK(0.2),
    MinKPlusPlus(0.2),
    SurprisingTokens(),
    ZlibRatio(),
    Neighborhood(12, n_neighbors=3),
    ReCaLL((3, 4)),
    ReferenceRatio(SequenceVictim(NGramModel(1, n_tokens=12).fit([range(12)]))),
    WindowVotes(SequenceVictim(NGramModel(1, n_tokens=12).fit([range(12)]))),
]


@pytest.mark.parametrize(
    "signal, side",
    # Whether the padding is at the left is decided before a signal sees the texts.
    [*((signal, "right") for signal in SIGNALS), *((signal, "left") for signal in SIGNALS[:3])],
    ids=lambda value: getattr(value, "name", value),
)
def test_scores_of_padded_texts_are_those_of_the_texts(texts, victim, signal, side):
    names = [str(text) for text in texts]
    plain = token_records(texts, text=names)
    padded = token_records(pad(texts, side, width=20), text=names)
    assert_array_equal(padded.fingerprint, plain.fingerprint)
    scores = [
        ThresholdAttack(victim, signal=signal).fit(records).score_samples(records)
        for records in (plain, padded)
    ]
    assert_array_equal(*scores)


def test_masks_come_in_all_forms_in_which_tokenizers_give_them(texts):
    expected, given = token_records(texts).X, pad(texts, "left", fill=-100)
    arrays = {name: np.array(rows) for name, rows in given.items()}
    rows = [dict(zip(given, row, strict=True)) for row in zip(*given.values(), strict=True)]

    class Encoding:  # of the package tokenizers
        def __init__(self, row):
            self.ids, self.attention_mask = row["input_ids"], row["attention_mask"]

    forms = [given, arrays, rows, [Encoding(row) for row in rows]]
    for form in forms:
        assert_array_equal(token_records(form).X, expected)
    ids, mask = arrays["input_ids"], arrays["attention_mask"]
    assert_array_equal(token_records(ids, attention_mask=mask).X, expected)
    assert_array_equal(token_records(np.array(expected[:, :4], dtype=np.uint16)).X, expected[:, :4])


@pytest.mark.parametrize("side, words", [("right", "end in"), ("left", "begin with")])
def test_padding_without_a_mask_is_said(texts, victim, side, words):
    ids = pad(texts, side)["input_ids"]
    with pytest.warns(UserWarning, match=f"of 40 sequences {words} the token 0.*attention_mask"):
        records = token_records(ids)
    with pytest.warns(UserWarning, match="as padding is"):
        victim.query(records.X)
    with pytest.warns(UserWarning, match="as padding is"):
        log_perplexity(victim.model, np.array(ids))


def test_texts_that_end_alike_are_not_taken_for_padded(texts):
    rng = np.random.default_rng(1)
    token_records([[*text, 9, 9, 9] for text in texts])  # three line breaks each
    token_records(rng.integers(2, size=(200, 12)))  # of two tokens
    token_records(texts)


def test_exposure_and_perplexity_leave_padding_out(victim):
    model, secrets = victim.model, [[1, 2, 3], [1, 2], [1, 2, 4], [5]]
    expected = [log_perplexity(model, [one])[0] for one in secrets]
    padded = pad(secrets)
    for given in (secrets, padded, token_records(padded).X):
        assert_allclose(log_perplexity(model, given), expected)
    exposure = Exposure(model, padded).fit()
    assert_allclose(np.sort(exposure.log_perplexities_), np.sort(expected))
    best = secrets[int(np.argmin(expected))]
    assert exposure.exposure(best) == exposure.max_exposure_ == 2
    assert_allclose(
        log_perplexity(model, secrets[:1] * 2, n_given=[0, 2]),
        [expected[0], expected[0] - expected[1]],
    )


def test_prompts_do_not_count(texts, victim):
    starts = np.array([len(text) // 2 for text in texts])
    whole = victim.query(token_records(texts).X).log_proba
    records = token_records(pad(texts, "left"), n_given=starts)
    found = victim.query(records.X)
    for row, all_of_it, start, text in zip(found.log_proba, whole, starts, texts, strict=True):
        counts = np.flatnonzero(~np.isnan(row))
        assert_array_equal(counts, np.arange(max(start, 1) - 1, len(text) - 1))
        assert_array_equal(row[counts], all_of_it[counts])
    assert_allclose(MinK(1.0)(found, np.zeros(40)), np.nanmean(found.log_proba, axis=1))
    assert_array_equal(records["n_tokens"], [len(text) for text in texts])
    # Shadow models read the prompts, and a function may train on the answers alone.
    seen = []

    def train(sequences, seed, counts):
        seen.extend(zip(sequences, counts, strict=True))
        return victim.model

    FunctionSequenceVictim(train).fit(records.X)
    assert_array_equal(seen[3][0], texts[3])
    assert_array_equal(seen[3][1], np.arange(len(texts[3])) >= starts[3])


def test_labels_of_a_training_say_what_counts():
    ids = [[5, 1, 4, 0, 7], [2, 2, 3, 0, 0]]
    labels = [[-100, -100, 4, -100, 7], [-100, 2, 3, -100, -100]]  # two turns; padding
    given = {"input_ids": ids, "attention_mask": [[1] * 5, [1, 1, 1, 0, 0]], "labels": labels}
    records = token_records(given)
    expected = [[5 - GIVEN, 1 - GIVEN, 4, -GIVEN, 7], [2 - GIVEN, 2, 3, -1, -1]]
    assert_array_equal(records.X, expected)
    chat = {"input_ids": ids, "attention_mask": given["attention_mask"]}
    chat["assistant_masks"] = [[0, 0, 1, 0, 1], [0, 1, 1, 0, 0]]
    assert_array_equal(token_records(chat).X, expected)
    model = NGramModel(2, n_tokens=8).fit([[5, 1, 4]])
    outputs = SequenceVictim(model).query(records.X)
    whole = model.token_log_proba([ids[0]], 1)[0]
    assert_allclose(outputs.log_proba[0], [NAN, whole[1], NAN, whole[3]])
    assert "1 inside without a number" in repr(outputs)


def test_labels_that_are_shifted_are_refused(texts):
    shifted = [[*text[1:], -100] for text in texts]
    with pytest.raises(ValueError, match=r"labels are shifted.*at its own place"):
        token_records(texts, labels=shifted)
    with pytest.raises(ValueError, match=r"labels must be the tokens.*others are in record 1"):
        token_records([[1, 2], [3, 4]], labels=[[1, 2], [3, 5]])
    with pytest.raises(ValueError, match="labels must have a row for each text.*of classes out"):
        token_records({"input_ids": [[1, 2], [3, 4]], "labels": [0, 1]})  # of classes


def test_records_without_anything_left_are_named(victim):
    with pytest.raises(ValueError, match=r"No token counts.*records 1 and 2 of 3"):
        token_records([[1, 2, 3], [1, 2], [1]], n_given=2)
    with pytest.raises(ValueError, match=r"no token for sequence 1 of 2, as of an empty text"):
        token_records([[1, 2], []])
    with pytest.raises(ValueError, match=r"2 tokens or more.*row 1 of 2 lack"):
        victim.query(token_records([[1, 2], [3]]).X)
    chat = {"input_ids": [[1, 2], [3, 4]], "assistant_masks": [[0, 0], [0, 0]]}
    with pytest.raises(ValueError, match="the chat template does not mark.*Pass n_given"):
        token_records(chat)
    with pytest.raises(ValueError, match="n_given must be an integer"):
        token_records([[1, 2], [3, 4]], n_given=[1, 1, 1])
    with pytest.raises(ValueError, match="a gap is in record 0"):
        token_records([[1, 2, 3]], attention_mask=[[1, 0, 1]])
    with pytest.raises(ValueError, match="attention_mask must hold 0 and 1; record 0"):
        token_records([[1, 2, 3]], attention_mask=[[1, 2, 1]])
    with pytest.raises(ValueError, match="record 1 has 2 tokens and attention_mask of 3"):
        token_records([[1, 2, 3], [1, 2]], attention_mask=[[1, 1, 1], [1, 1, 0]])


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("n_missing", [0, 1])
def test_stored_answers_follow_the_mask(texts, victim, side, n_missing):
    starts = np.arange(40) % 3 + 1
    expected = victim.query(token_records(texts, n_given=starts).X)
    given = pad(texts, side)
    mask = np.array(given["attention_mask"], dtype=bool)
    stored = np.full(mask.shape, -7.0)  # at padding as well
    whole = SequenceVictim(victim.model, n_given=0).query(token_records(texts).X).log_proba
    stored[mask] = whole[~np.isnan(whole)]
    outputs = TokenOutputs(stored[:, n_missing:])
    records = token_records(given, n_given=starts, outputs=outputs)
    assert_array_equal(records["outputs"].log_proba[:, 1:], expected.log_proba)
    assert_array_equal(MinK().of(None, records), MinK()(expected, np.zeros(40)))
    # Numbers that stand at the places of the texts without padding are left there.
    short = token_records(given, n_given=starts, outputs=TokenOutputs(whole[:, n_missing:]))
    assert_array_equal(short["outputs"].log_proba, records["outputs"].log_proba)
    with pytest.raises(ValueError, match="outputs must have a row for each of 40 texts"):
        token_records(given, outputs=TokenOutputs(stored[:, 4:]))


def test_missing_answers_do_not_count():
    given = [[None, -0.5, None, -2.0], [None, -1.0]]
    outputs = TokenOutputs(given)
    assert_array_equal(outputs.lengths, [2, 1])
    assert_allclose(MinK(1.0)(outputs, [0, 0]), [-1.25, -1.0])
    assert_allclose(MinK(0.5)(outputs, [0, 0]), [-2.0, -1.0])
    assert_array_equal(TokenOutputs(given, n_given=[2, 0]).lengths, [1, 1])
    assert_allclose(outputs.values, TokenOutputs([[-0.5, -2.0], [-1.0, NAN]]).values)
    with pytest.raises(ValueError, match=r"Records 1 and 2 of log_proba.*2 of 3 hold none"):
        TokenOutputs([[-1.0], [None], [NAN]])


def test_a_reference_is_compared_where_both_have_answers():
    class Told(SequenceVictim):
        def query(self, X):
            return TokenOutputs([[-1.0, NAN, -3.0, -1.0]])

    reference = Told(NGramModel(1, n_tokens=5).fit([range(5)]))
    records = token_records([[1, 2, 3, 4]], outputs=TokenOutputs([[-2.0, -9.0, NAN, -1.5]]))
    assert_allclose(ReferenceRatio(reference).of(None, records), [-0.75])
    assert_allclose(WindowVotes(reference, (1,)).of(None, records), [0.0])


@pytest.mark.parametrize(
    "log_proba, message",
    [
        ([[0.5, 0.9]], r"at most 0; got 0.5 for record 0 at position 0. Pass np.log"),
        ([[2.5, 0.9]], "Pass minus the losses"),
        ([[2.5, -0.9]], "log_softmax"),
        ([-5.0, -7.0], r"one number for each token; for one number per text, such as a mean loss"),
        ([[{"a": -1.0}]], "holds dictionaries, as services list the most probable tokens"),
        ([[-1.0], ["a"]], "record 1 is not"),
    ],
    ids=["probabilities", "losses", "logits", "sums", "top-k", "text"],
)
def test_other_numbers_than_log_probabilities_are_named(log_proba, message):
    with pytest.raises(ValueError, match=message):
        TokenOutputs(log_proba)


def test_logarithms_of_another_base_are_converted():
    natural = np.array([[-1.0, -4.0, NAN], [-0.5, -0.1, -0.2]])
    moments = natural - 1, np.where(np.isnan(natural), NAN, 2.0)
    expected = TokenOutputs(natural, *moments)
    for base in (2, 10):
        found = TokenOutputs(*(one / np.log(base) for one in (natural, *moments)), base=base)
        assert_allclose(found.values, expected.values)
        assert_allclose(found.std, expected.std)
        assert_allclose(found.mean, expected.mean)
    with pytest.raises(ValueError, match="base must be None or a number above 1"):
        TokenOutputs(natural, base=1)


def test_sums_up_to_each_token_are_told():
    steps = np.random.default_rng(0).uniform(-3, -0.1, size=(4, 9))
    with pytest.warns(UserWarning, match="fall from token to token, as sums"):
        TokenOutputs(steps.cumsum(axis=1))
    TokenOutputs(steps)
    TokenOutputs([[-1.0, -2.0, -3.0]])  # a text of three tokens may fall by chance


def test_a_start_token_that_stands_twice_is_told(texts):
    with pytest.warns(UserWarning, match="begins with the token 1 twice.*add_special_tokens=False"):
        token_records([[1, 1, *text] for text in texts])
    torch = pytest.importorskip("torch")

    class Bigrams(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding(12, 12)

        def forward(self, tokens):
            return self.table(tokens)

    model = TorchSequenceModel(Bigrams(), start_token=1)
    with pytest.warns(UserWarning, match="begin with the start token 1, and the model puts it"):
        SequenceVictim(model).query(token_records([[1, *text] for text in texts]).X)


@parametrize_refusals(
    (lambda: token_records(np.arange(12, dtype=np.uint16)), "Cut a stream of tokens into texts"),
    (lambda: token_records({"input_ids": [1, 2, 3]}), "the tokens of one text"),
    (lambda: token_records(["to be or not"]), "Pass what the tokenizer returns"),
    (lambda: token_records(""), "sequences must be .* whole numbers of 0 and above; got ''"),
    (lambda: token_records(3), "sequences must be .* whole numbers of 0 and above; got 3"),
    (lambda: token_records(np.array([0.5, 1.0])), "of 0 and above; got .*0.5.* at place 0"),
    (lambda: token_records([[1], [500_000_000]]), r"got \[500000000\] at place 1"),
    (lambda: mask([1, 1]), r"a row for each text and a number .* got an array of shape \(2,\)"),
    (lambda: mask([[1, 1]]), "a row for each text and a number .* got 1 rows for 2 texts"),
    (lambda: mask([[1, 1], 1]), "a row for each text and a number .* tokens; got 1 for text 1"),
    (lambda: mask([[1, 1], [0.5, 1]]), "must have a row for each .* record 1 has 2 tokens and a"),
    (lambda: token_records({"ids": [[1]]}), "must hold 'input_ids'; got 'ids'"),
    (lambda: token_records([{"input_ids": [1]}, {"text": "a"}]), "Record 1 has no 'input_ids'"),
    (lambda: token_records([[1, 2], [3, -100]]), r"got \[3, -100\] at place 1.*attention_mask"),
)
def test_what_is_not_texts_is_named_with_the_cure(call, words, error):
    check_refusal(call, words, error)


def mask(attention_mask):
    return token_records([[1, 2], [3, 4]], attention_mask=attention_mask)


def test_the_largest_token_is_taken():
    assert token_records([[1], [499_999_999]]).X.ravel().tolist() == [1, 499_999_999]


def test_a_module_is_wrapped(texts):
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="got Linear; wrap a torch module as TransformersModel"):
        SequenceVictim(torch.nn.Linear(2, 2)).query(token_records(texts).X)


def test_texts_beyond_the_context_are_cut_and_counted():
    torch = pytest.importorskip("torch")

    class Positions(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = torch.nn.Embedding(6, 4), torch.nn.Embedding(5, 4)
            self.drop, self.out = torch.nn.Dropout(0.5), torch.nn.Linear(4, 6)

        def forward(self, tokens):
            return self.out(
                self.drop(self.tokens(tokens) + self.places.weight[: tokens.shape[1]].cumsum(0))
                + self.places(torch.arange(tokens.shape[1]))
            )

    net = Positions()
    records = token_records([[1, 2, 3], [5, 4, 3, 2, 1, 0, 1], [1, 1, 1, 1, 1, 2]])
    with pytest.raises(ValueError, match="cannot read sequences of 6 tokens.*Set max_length"):
        SequenceVictim(TorchSequenceModel(net)).query(records.X)
    victim = SequenceVictim(TorchSequenceModel(net, max_length=5))
    with pytest.warns(UserWarning, match="2 of 3 texts are longer than the 5 tokens"):
        outputs = victim.query(records.X)
    assert_array_equal(outputs.lengths, [2, 4, 4])
    assert net.training and net.drop.training
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        again = victim.query(records.X)
        with pytest.raises(ValueError, match="none after the 5 that the model reads.*row 1 of 3"):
            victim.query(token_records([[1, 2], [5, 4, 3, 2, 1, 0], [2, 1]], n_given=[0, 5, 0]).X)
    assert_array_equal(outputs.log_proba, again.log_proba)  # no dropout


def test_shadow_models_leave_prompts_out(texts):
    def train(sequences, seed):
        return NGramModel(3, n_tokens=12).fit(sequences)

    records = token_records(texts, n_given=3)
    victim = FunctionSequenceVictim(train).fit(records.X[:20])
    pool = ShadowPool(victim, n_estimators=2, random_state=0).fit(records)
    own = FunctionSequenceVictim(train).fit(records.X[pool.membership(records)[:, 0]])
    found = pool.transform(records)[:, 0]
    assert_allclose(found, own.query(records.X).values, rtol=1e-5)  # of single precision
    everything = own.query(token_records(texts).X).values
    assert (np.abs(found - everything) > 1e-3).any()


def test_the_blind_baseline_reads_prompts(texts):
    given = [[*([10, 10] if i % 2 else [11, 11]), *text] for i, text in enumerate(texts)]
    records = token_records(given, n_given=2)
    found = blind_baseline(records, np.arange(40) % 2, random_state=0)
    assert found.low > 0.5


def make_gpt2(**settings):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(0)
    sizes = {"vocab_size": 16, "n_positions": 20, "n_layer": 1, "n_head": 2, "n_embd": 16}
    special = {"bos_token_id": 0, "eos_token_id": 0}
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes, **special, **settings))


def test_a_batch_of_padded_texts_is_answered_as_each_text(texts):
    torch, net = pytest.importorskip("torch"), make_gpt2()
    outputs = SequenceVictim(TransformersModel(net, batch_size=7)).query(
        token_records(pad(texts, "left")).X
    )
    net.eval()
    for row, text in zip(outputs.log_proba, texts, strict=True):
        with torch.no_grad():
            logits = net(torch.tensor([text])).logits[0].log_softmax(1)
        expected = logits[torch.arange(len(text) - 1), torch.tensor(text[1:])]
        # Other shapes of batches sum in another order: float32.
        assert_allclose(row[: len(text) - 1], expected, rtol=1e-5)


def test_any_module_with_logits_and_half_precision_is_read(texts):
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding(12, 12)
            self.asked = []

        def forward(self, input_ids, attention_mask):
            self.asked.append(attention_mask.shape == input_ids.shape)
            return SimpleNamespace(logits=self.table(input_ids))

    torch.manual_seed(0)
    net, records = Net(), token_records(texts)
    exact = SequenceVictim(TransformersModel(net)).query(records.X)
    assert all(net.asked) and np.isfinite(exact.values).all()
    half = SequenceVictim(TransformersModel(net.to(torch.bfloat16))).query(records.X)
    assert_allclose(half.values, exact.values, rtol=0.02)  # eight bits
    with pytest.raises(ValueError, match="use_adapters=False needs a model with adapters"):
        TransformersModel(net, use_adapters=False)


def test_adapters_are_read_and_the_model_before_them_is_the_reference(texts):
    net, peft = make_gpt2(), pytest.importorskip("peft")
    torch, records = pytest.importorskip("torch"), token_records(texts)
    before = SequenceVictim(TransformersModel(net)).query(records.X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peft speaks of layers
        settings = peft.LoraConfig(task_type="CAUSAL_LM", r=2, target_modules=["c_attn"])
        adapted = peft.get_peft_model(net, settings)
    for name, parameter in adapted.named_parameters():
        if "lora" in name:
            torch.nn.init.normal_(parameter)
    victim = SequenceVictim(TransformersModel(adapted))
    reference = SequenceVictim(TransformersModel(adapted, use_adapters=False))
    assert victim.model.max_length == 20
    own, other = victim.query(records.X), reference.query(records.X)
    assert_array_equal(other.log_proba, before.log_proba)
    assert np.nanmax(np.abs(own.log_proba - other.log_proba)) > 0.01
    assert_array_equal(victim.query(records.X).log_proba, own.log_proba)  # active again
    expected = np.nanmean(own.log_proba - other.log_proba, axis=1)
    assert_allclose(ReferenceRatio(reference).of(victim, records), expected, atol=1e-12)


@pytest.mark.parametrize("kind", ["peft", "transformers"])
def test_adapters_that_were_off_or_frozen_stay_so(kind):
    torch = pytest.importorskip("torch")

    class Layer(torch.nn.Module):
        """Layer with the switch of peft, which makes what is on trainable."""

        disable_adapters = False

        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1))

        def enable_adapters(self, enabled):
            self.disable_adapters = not enabled
            self.weight.requires_grad_(enabled)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList([Layer(), Layer(), Layer()])
            self.table, self.seen = torch.nn.Embedding(4, 4), []
            if kind == "transformers":
                self._hf_peft_config_loaded = True
                self.disable_adapters = lambda: self.switch(False)
                self.enable_adapters = lambda: self.switch(True)
            else:
                self.disable_adapter = self.leave_out

        @contextmanager
        def leave_out(self):
            self.switch(False)
            yield
            self.switch(True)

        def switch(self, enabled):
            for layer in self.layers:
                layer.enable_adapters(enabled)

        def forward(self, input_ids, attention_mask):
            self.seen.append([layer.disable_adapters for layer in self.layers])
            return SimpleNamespace(logits=self.table(input_ids))

    net = Net()
    net.layers[0].enable_adapters(False)
    net.layers[1].weight.requires_grad_(False)
    TransformersModel(net, use_adapters=False).next_log_proba([[1, 2]])
    TransformersModel(net).next_log_proba([[1, 2]])
    assert net.seen == [[True, True, True], [True, False, False]]
    assert [layer.weight.requires_grad for layer in net.layers] == [False, False, True]


def make_net(n_positions=20, **config):
    """A net with the calls of a model of transformers, which is not needed for it."""
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding(16, 16)
            self.config = SimpleNamespace(n_positions=n_positions, vocab_size=16, **config)

        def forward(self, input_ids, attention_mask):
            return SimpleNamespace(logits=self.table(input_ids))

    return Net()


def number_letters(texts):
    return {"input_ids": [[ord(letter) - ord("a") for letter in text] for text in texts]}


def test_texts_are_cut_to_what_the_model_reads():
    net, texts = make_net(8), ["abcd", "hello", "abcdefghij"]
    with pytest.warns(UserWarning, match="1 of 3 texts are longer than the 8 tokens"):
        records = TransformersModel(net, number_letters).read(texts, record_id=[3, 4, 5])
    expected = [[0, 1, 2, 3, -1, -1, -1, -1], [7, 4, 11, 11, 14, -1, -1, -1], [*range(8)]]
    assert_array_equal(records.X, expected)
    assert_array_equal(records["n_tokens"], [4, 5, 8])
    assert records["text"].tolist() == texts and records["record_id"].tolist() == [3, 4, 5]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = TransformersModel(net, number_letters).read(["abcdefgh"])
        plain = TransformersModel(net, number_letters).read(["abc", "bc"], prompts=["", ""])
    assert_array_equal(whole.X, [[*range(8)]])
    assert_array_equal(plain.X, [[0, 1, 2], [1, 2, -1]])
    shorter = TransformersModel(net, number_letters, max_length=5)
    with pytest.warns(UserWarning, match="1 of 1 texts are longer than the 5 tokens"):
        assert_array_equal(shorter.read(["abcdef"]).X, [[*range(5)]])


@parametrize_refusals(
    (lambda: TransformersModel(make_net()).read(["a"]), "tokenizer is None; pass the tokenizer"),
    (
        lambda: TransformersModel(make_net(), number_letters).read(pd.DataFrame({"text": ["a"]})),
        "texts must be a sequence of texts; got text 0 a",
    ),
    (
        lambda: TransformersModel(make_net(), number_letters).read({"text": ["a", "b"]}),
        "texts must be a sequence of texts; got {'text'",
    ),
    (lambda: read_letters("abc"), "texts must be a sequence of texts; got 'abc'"),
    (lambda: read_letters(["a", 1]), "texts must be a sequence of texts; got"),
    (lambda: read_letters([]), "texts must hold one text or more; got none"),
    (
        lambda: read_letters(["ab"], prompts=["a"], n_given=1),
        "a prompt for each of 1 texts, without n_given; got 1 prompts and n_given=1",
    ),
    (lambda: read_letters(5), "texts must be a sequence of texts; got 5"),
    (lambda: read_letters(["ab"], prompts=[1]), r"prompts must be a sequence of texts; got \[1\]"),
    (lambda: read_letters(["ab"], prompts="a"), "prompts must be a sequence of texts; got 'a'"),
    (lambda: TransformersModel("gpt2"), "model must be a model of transf.*; got str", TypeError),
    (
        lambda: TransformersModel(make_net(is_encoder_decoder=True)),
        "Net does not predict the next token",
    ),
    (
        lambda: TransformersModel(make_net(), number_letters).next_log_proba([[1, 16]]),
        "The model knows 16 tokens; got the token 16",
    ),
)
def test_what_a_model_of_texts_cannot_read_is_refused(call, words, error):
    check_refusal(call, words, error)


def read_letters(texts, **settings):
    return TransformersModel(make_net(), number_letters).read(texts, **settings)


def test_prompts_are_the_tokens_that_they_share_with_the_texts():
    letters = "abcdefghij"

    def tokenizer(texts):
        """A start token and one for each letter, two letters together where they stand so."""
        ids = [[10, *map(letters.index, text.replace("cd", "j"))] for text in texts]
        return {"input_ids": ids, "attention_mask": [[1] * len(row) for row in ids]}

    reader = TransformersModel(make_net(), tokenizer)
    records = reader.read(["abcde", "abe"], prompts=["abc", ""])
    # The last letter of the prompt is part of a token of the answer.
    expected = [[10 - GIVEN, -GIVEN, 1 - GIVEN, 9, 4], [10, 0, 1, 4, -1]]
    assert_array_equal(records.X, expected)
    with pytest.raises(ValueError, match="text 1 does not: it begins with 'a', the prompt is 'b'"):
        reader.read(["ab", "ab"], prompts=["a", "b"])
    with pytest.raises(ValueError, match="a prompt for each of 2 texts"):
        reader.read(["ab", "ab"], prompts=["a"])
    with pytest.warns(UserWarning, match="1 of 2 texts are longer than the 20 tokens"):
        cut = reader.read(["a" * 30, "ab"], n_given=1)
    assert_array_equal(cut["n_tokens"], [20, 3])
    with (
        pytest.warns(UserWarning, match="1 of 2 texts are longer"),
        pytest.raises(ValueError, match="the model reads 20.*record 0 of 2"),
    ):
        reader.read(["a" * 30, "ab"], prompts=["a" * 25, ""])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_a_table_are_what_a_tokenizer_returned(library):
    padded = pad([[5, 1, 4], [2, 2]])
    make = pytest.importorskip(library).DataFrame
    frame, known = make(dict(padded)), token_records(padded).X
    assert_array_equal(token_records(frame).X, known)
    ids, mask = (np.array(padded[name]) for name in ("input_ids", "attention_mask"))
    square = make({f"{k}": column for k, column in enumerate(np.vstack([mask, mask[:1]]).T)})
    assert_array_equal(token_records([*ids, ids[0]], attention_mask=square).X[:2], known)
    model = NGramModel(2).fit([[5, 1, 4, 2]])
    assert_array_equal(log_perplexity(model, frame), log_perplexity(model, padded))


@pytest.mark.parametrize("order", [1, -1])
def test_rows_of_a_data_set_all_have_a_mask_or_none_has(order):
    rows = [{"input_ids": [1, 2]}, {"input_ids": [3, 0], "attention_mask": [1, 0]}]
    with pytest.raises(ValueError, match="Record . has no 'attention_mask'"):
        token_records(rows[::order])


def test_what_belongs_to_texts_in_another_order_is_told():
    texts = pd.Series([[5, 1, 4], [2, 2]], index=["x", "y"])
    own = pd.Series([0, 1], index=["y", "x"])
    reader = TransformersModel(make_net(), number_letters)
    for call, told in (
        (lambda: token_records(texts, n_given=own), "n_given has the index of sequences"),
        (lambda: token_records(texts, record_id=own), "record_id has the index of sequences"),
        (lambda: insert_canaries([[1]], texts, own), "n_insertions has the index of canaries"),
        (
            lambda: reader.read(pd.Series(["abc", "bcd"], index=["x", "y"]), record_id=own),
            "record_id has the index of texts",
        ),
    ):
        with pytest.warns(UserWarning, match=f"^{told} in another order"):
            call()


def test_outputs_of_padding_are_left_out_without_a_mask():
    padded = TokenOutputs([[-1.0, -2.0, -3.0], [-4.0, -5.0, -9.0]])
    found = token_records([[5, 1, 4], [2, 2]], outputs=padded)["outputs"]
    assert_array_equal(found.log_proba, [[-1.0, -2.0, -3.0], [-4.0, -5.0, NAN]])
