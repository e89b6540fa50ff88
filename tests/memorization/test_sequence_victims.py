"""Language models as victims: records of texts, answers by tokens, pools, audits."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from refusals import check_refusal, parametrize_refusals
from scipy.special import logit

from skmia import Outputs, Records, ShadowPool, audit
from skmia.attacks import RMIA, LiRA, ThresholdAttack
from skmia.base import Offer
from skmia.memorization import (
    FunctionSequenceVictim,
    NGramModel,
    SequenceModel,
    SequenceVictim,
    TokenOutputs,
    TorchSequenceModel,
    TransformersModel,
    token_records,
)
from skmia.report import blind_baseline
from skmia.signals import Loss
from skmia.signals.sequences import MinK, ReCaLL

NAN = np.nan
TEXTS = [[0, 1, 2, 3, 1], [3, 2], [1, 1, 0]]
N_TOKENS = 12


class Prefixes(SequenceModel):
    """Another model without its own methods for whole sequences."""

    def __init__(self, model):
        self.model = model

    def next_log_proba(self, prefixes):
        return self.model.next_log_proba(prefixes)


def train(sequences, seed):
    return NGramModel(3, n_tokens=N_TOKENS).fit(sequences)


def draw_texts(n, rng):
    return [rng.integers(N_TOKENS, size=rng.integers(5, 11)) for _ in range(n)]


@pytest.fixture(scope="module")
def problem():
    """A victim, its records and membership, all of one distribution."""
    rng = np.random.default_rng(0)
    texts = draw_texts(240, rng)
    records = token_records(texts, record_id=[f"text {i}" for i in range(240)])
    membership = rng.permutation(240) % 2
    return FunctionSequenceVictim(train).fit(records.X[membership == 1]), records, membership


def test_records_of_texts_are_padded_and_keep_their_lengths():
    records = token_records(TEXTS, text=["a", "b", "c"])
    assert_array_equal(records.X, [[0, 1, 2, 3, 1], [3, 2, -1, -1, -1], [1, 1, 0, -1, -1]])
    assert_array_equal(records[[2, 0]]["n_tokens"], [3, 5])
    again = token_records([TEXTS[2]], length=5)
    assert_array_equal(again.fingerprint, records[2].fingerprint)
    both = Records.concat([records, token_records(TEXTS[1:], length=5, text=["b", "c"])])
    assert len(set(both.fingerprint.tolist())) == 3
    assert_array_equal(pickle.loads(pickle.dumps(both)).X, both.X)


@pytest.mark.parametrize(
    "texts", [[], ["to be"], [[1, -1]], [[0.5]], [[]], 3, [[[1]]]], ids=range(7)
)
def test_what_is_not_tokens_is_refused(texts):
    with pytest.raises(ValueError, match="sequences must be a sequence|A sequence must"):
        token_records(texts)


def test_outputs_are_log_odds_of_the_geometric_mean():
    outputs = TokenOutputs([[-1.0, -3.0, NAN], [0.0, 0.0, 0.0], [-np.inf, -1.0, NAN]])
    assert isinstance(outputs, Outputs) and outputs.kind == "log_odds"
    assert_allclose(outputs.values[0], logit(np.exp(-2.0)))
    assert np.isfinite(outputs.values).all()  # certain and impossible tokens too
    assert_allclose(Loss()(outputs, [0, 0, 0])[:1], -2.0)
    assert_array_equal(outputs.lengths, [2, 3, 2])
    assert_array_equal(outputs[[1, 0]].log_proba, outputs.log_proba[[1, 0]])
    short = TokenOutputs([[-1.0]])
    joined = Outputs.concat([outputs]), TokenOutputs.concat([short, outputs])
    assert_array_equal(joined[1].lengths, [1, 2, 3, 2])
    assert_array_equal(joined[1].values[1:], outputs.values)


@pytest.mark.parametrize("kind", ["arrays", "tensors", "column", "objects", "nullable"])
def test_outputs_of_different_lengths_come_in_any_container(kind):
    rows = [np.array([-1.0, -3.0]), np.array([-2.0])]
    if kind == "tensors":
        rows = tuple(map(pytest.importorskip("torch").tensor, rows))
    elif kind == "nullable":
        rows = pd.DataFrame([[-1.0, -3.0], [-2.0, None]], dtype="Float64")
    elif kind != "arrays":
        column = pd.Series([row.tolist() for row in rows], index=[5, 3])
        rows = column if kind == "column" else column.to_numpy()
    assert_array_equal(TokenOutputs(rows).log_proba, [[-1.0, -3.0], [-2.0, NAN]])


@parametrize_refusals(
    (lambda: TokenOutputs([-1.0]), "must be a matrix"),
    (lambda: TokenOutputs([[NAN]]), "one log-probability or more"),
    (lambda: TokenOutputs([[-1.0], [NAN]]), "Record 1 of log_proba .* 1 of 2 hold none"),
    (lambda: TokenOutputs([[-1.0, 0.5]]), "at most 0; got 0.5 for record 0 at position 1"),
    (lambda: TokenOutputs([[-1.0]], mean=[[-1.0, 2.0]]), "mean must have the shape"),
    (lambda: TokenOutputs([[-1.0]], std=[[-1.0]]), "std must be at least 0"),
)
def test_bad_answers_are_refused(call, words, error):
    check_refusal(call, words, error)


@pytest.mark.parametrize("n_given", [0, 1])
def test_batches_of_ragged_texts_are_answered_as_each_text(n_given):
    model, records = train(TEXTS, 0), token_records(TEXTS)
    outputs = SequenceVictim(model, n_given=n_given, batch_size=2).query(records.X)
    for row, text in zip(outputs.log_proba, TEXTS, strict=True):
        expected = model.token_log_proba([text], n_given)[0]
        assert_allclose(row[: len(expected)], expected)
        assert np.isnan(row[len(expected) :]).all()


def test_moments_are_those_of_the_prediction():
    model = train(TEXTS, 0)
    outputs = SequenceVictim(model, n_given=0).query([[0, 1]])
    log_proba = model.next_log_proba([[0]])[0]
    proba = np.exp(log_proba)
    mean = proba @ log_proba
    assert_allclose(outputs.mean[0, 1], mean)
    assert_allclose(outputs.std[0, 1], np.sqrt(proba @ (log_proba - mean) ** 2))


@parametrize_refusals(
    (lambda victim: victim.query([[1, 2], [1, -1]]), "Sequences need 2 tokens or more"),
    (lambda victim: victim.query([[1, 2], [-1, 1]]), "may end with -1; row 1"),
    (lambda victim: victim.query([[0.5, 1.0]]), "must be a matrix of tokens"),
    (
        lambda victim: FunctionSequenceVictim(lambda sequences, seed: "model").fit([[1, 2]]),
        "train must return a sequence model",
    ),
)
def test_victims_refuse_what_they_cannot_answer(call, words, error):
    victim = SequenceVictim(train(TEXTS, 0))
    check_refusal(call, words, error, victim)


@pytest.fixture
def net():
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.cells = torch.nn.Embedding(6, 8), torch.nn.GRU(8, 8, batch_first=True)
            self.out = torch.nn.Linear(8, 6)

        def forward(self, tokens):
            return self.out(self.cells(self.tokens(tokens))[0])

    torch.manual_seed(0)
    return Net()


@pytest.mark.parametrize("start_token", [None, 5])
def test_moments_of_a_net_in_one_pass_are_those_by_prefixes(net, start_token, monkeypatch):
    monkeypatch.setattr("skmia.memorization._torch._MOST_LOGITS", 64)  # several parts
    model, records = TorchSequenceModel(net, start_token=start_token), token_records(TEXTS)
    fast, slow = (SequenceVictim(m, n_given=0).query(records.X) for m in (model, Prefixes(model)))
    for name in ("log_proba", "mean", "std"):
        # Sums of six float32 numbers of order one.
        assert_allclose(getattr(fast, name), getattr(slow, name), atol=1e-5)


def test_transformers_models_are_victims():
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=16, n_positions=8, n_layer=1, n_head=2, n_embd=16, bos_token_id=0, eos_token_id=0
    )
    model = transformers.GPT2LMHeadModel(config)

    def tokenizer(texts):
        return {"input_ids": [[ord(letter) - ord("a") for letter in text] for text in texts]}

    reader = TransformersModel(model, tokenizer)
    with pytest.warns(UserWarning, match="1 of 3 texts are longer than the 8 tokens"):
        records = reader.read(["abcd", "hello", "abcdefghij"], record_id=[3, 4, 5])
    assert_array_equal(records["n_tokens"], [4, 5, 8])  # cut to what the model reads
    outputs = SequenceVictim(reader).query(records.X)
    model.eval()
    with torch.no_grad():
        logits = model(torch.tensor([[0, 1, 2, 3]])).logits[0].log_softmax(1)
    expected = [logits[0, 1], logits[1, 2], logits[2, 3]]
    assert_allclose(outputs.log_proba[0, :3], expected, atol=1e-5)  # float32, other batches
    with pytest.warns(UserWarning, match="1 of 3 texts are longer than the 8 tokens"):
        ReCaLL((1, 2)).of(SequenceVictim(reader), records)
    with pytest.raises(ValueError, match="knows 16 tokens"):
        SequenceVictim(reader).query([[1, 16]])
    with pytest.raises(TypeError, match="must be a model of transformers"):
        TransformersModel("gpt2")
    with pytest.raises(ValueError, match="does not predict the next token"):
        TransformersModel(transformers.GPT2Model(config))


def test_pools_train_sequence_models_for_lira_and_rmia(problem):
    victim, records, membership = problem
    pool = ShadowPool(victim, n_estimators=4, signals=("auto", MinK()), random_state=0).fit(records)
    # A shadow model is the function's, of its own half: the same model gives the same signals.
    own = FunctionSequenceVictim(train).fit(records.X[pool.membership(records)[:, 0]])
    assert_allclose(pool.transform(records)[:, 0], own.query(records.X).values, rtol=1e-5)
    for attack in (LiRA(victim, pool), RMIA(victim, pool), LiRA(victim, pool, signal=MinK())):
        assert attack.fit(records).score(records, membership) > 0.5


def test_scores_of_fine_tuned_models_make_a_pool(problem):
    victim, records, _ = problem
    trained = ShadowPool(victim, n_estimators=4, random_state=0).fit(records)
    inside = trained.membership(records).T
    models = [FunctionSequenceVictim(train).fit(records.X[rows]) for rows in inside]
    scores = np.array([model.query(records.X).values for model in models])
    given = ShadowPool.from_outputs(scores, inside, records, kind="log_odds")
    held = [SequenceVictim(model.model_) for model in models]
    of_models = ShadowPool.from_models(held, inside, records)
    assert_array_equal(of_models.transform(records), given.transform(records))
    target = records.with_outputs(victim)
    expected = LiRA(victim, trained).fit(records).score_samples(records)
    found = LiRA(None, given).fit(target).score_samples(target)
    assert_allclose(found, expected, rtol=1e-4, atol=1e-4)  # of float32 signals


@pytest.mark.usefixtures("quick_audits")
def test_an_audit_ranks_exposed_texts_first(problem):
    victim, records, membership = problem
    attacks = {"min-k": ThresholdAttack(signal=MinK()), "LiRA": LiRA(), "RMIA": RMIA()}
    report = audit(victim, records, membership, attacks=attacks, shadows=4, random_state=0)
    assert report.evidence == "leak"
    assert set(report.scores) == set(attacks) and not any("left out" in n for n in report.notes)
    first = np.argsort(-report.scores["LiRA"])[:20]
    # Each of these is a member with probability of one half by chance: 1e-6 for all of them.
    assert membership[first].all()
    assert report.checks["blind baseline"].status == "passed"


@pytest.mark.usefixtures("quick_audits")
def test_the_blind_baseline_finds_texts_of_another_time(problem):
    _, records, membership = problem
    texts = [row[row >= 0] for row in records.X]
    # One more token at any place, which is of another kind in members: what a date would do.
    rng = np.random.default_rng(1)
    shifted = [
        np.insert(text, rng.integers(len(text)), 10 if member else 11)
        for text, member in zip(texts, membership, strict=True)
    ]
    found = blind_baseline(token_records(shifted), membership, random_state=0)
    assert found.low > 0.5
    report = audit(
        FunctionSequenceVictim(train).fit(token_records(shifted).X[membership == 1]),
        token_records(shifted),
        membership,
        attacks={"loss": ThresholdAttack()},
        random_state=0,
    )
    # What the victim has memorized is more than that; for one that knows other texts it is not.
    assert report.checks["blind baseline"].is_warning
    assert report.evidence == "leak"
    members = np.flatnonzero(membership == 1)
    known, unknown = members[::2], members[1::2]
    rows = np.sort(np.concatenate([unknown, np.flatnonzero(membership == 0)]))
    report = audit(
        FunctionSequenceVictim(train).fit(token_records(shifted).X[known]),
        token_records(shifted)[rows],
        membership[rows],
        attacks={"loss": ThresholdAttack()},
        random_state=0,
    )
    assert report.evidence == "shift"


@pytest.mark.usefixtures("quick_audits")
def test_stored_answers_are_audited_without_the_model(problem):
    victim, records, membership = problem
    stored = records.with_outputs(victim)
    attacks = {
        "min-k": ThresholdAttack(signal=MinK()),
        "recall": ThresholdAttack(signal=ReCaLL((1,))),
    }
    report = audit(FunctionSequenceVictim(train), stored, membership, attacks=attacks, shadows=4)
    assert list(report.scores) == ["min-k"]
    assert any("recall was left out: it needs further queries" in note for note in report.notes)


@pytest.mark.usefixtures("quick_audits")
def test_fitted_models_without_a_recipe_have_no_shadow_models(problem):
    _, records, membership = problem
    victim = SequenceVictim(train([row[row >= 0] for row in records.X[membership == 1]], 0))
    report = audit(victim, records, membership, random_state=0)
    assert list(report.scores) == ["threshold (loss)"]
    assert any("cannot be trained" in note for note in report.notes)


def test_signals_of_tokens_need_a_sequence_model():
    needs = ThresholdAttack(signal=MinK()).needs()
    reason = needs.why_not(Offer("log_odds"))
    assert reason == (
        "it needs the log-probabilities of single tokens of the victim, which it does not give"
    )
    assert needs.why_not(Offer("log_odds", access=frozenset({"tokens"}))) is None


def test_the_score_of_a_victim_is_the_mean_log_probability_of_its_texts():
    victim = SequenceVictim(NGramModel(2, n_tokens=N_TOKENS).fit(TEXTS))
    X = token_records(TEXTS).X
    assert victim.fit().score(X) == pytest.approx(victim.predict(X).mean())
    assert victim.score(X) > victim.score(token_records([[5, 6, 7]]).X)
