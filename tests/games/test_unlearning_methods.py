"""The ready ways of forgetting: what they do to a model, and that the first model stays."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from small_net import make_small_net

from skmia import Outputs, Records
from skmia.exceptions import TrainingError
from skmia.games import unlearning, unlearning_game
from skmia.games.unlearning import (
    SISA,
    FineTuning,
    NegativeWeights,
    NoUnlearning,
    Relabeling,
    Retraining,
    WeightNoise,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5)).astype(np.float32)
RECORDS = Records(X, (X[:, 0] + RNG.normal(size=60) > 0).astype(int))
KEEP, FORGET, NEVER = np.arange(30), np.arange(30, 40), np.arange(40, 60)


def make_linear():
    return SGDClassifier(
        loss="log_loss", learning_rate="constant", eta0=0.05, max_iter=5, tol=None, random_state=0
    )


def make_net():
    pytest.importorskip("skorch")
    return make_small_net(5, lr=0.5)


def fit(model):
    rows = np.append(KEEP, FORGET)
    return model.fit(RECORDS.X[rows], RECORDS.y[rows])


def forget(way, model, records=RECORDS):
    return way(model, records, KEEP, FORGET, np.random.default_rng(0))


def loss(model, rows):
    proba = model.predict_proba(X[rows])
    return -np.log(proba[np.arange(len(rows)), RECORDS.y[rows]]).mean()


MAKERS = {
    "linear": lambda: fit(make_linear()),
    "pipeline": lambda: fit(make_pipeline(StandardScaler(), make_linear())),
    "net": lambda: fit(make_net()),
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(
    "way",
    [FineTuning(3), NegativeWeights(), Relabeling(), WeightNoise(0.5), Retraining()],
    ids=lambda way: type(way).__name__,
)
def test_forgetting_makes_another_model_and_leaves_the_first(way, maker):
    model = MAKERS[maker]()
    before = model.predict_proba(X)
    after = forget(way, model)
    assert type(after) is type(model) and after is not model
    assert np.array_equal(model.predict_proba(X), before)
    assert not np.array_equal(after.predict_proba(X), before)


def test_a_net_that_validates_learns_all_wrong_labels():
    pytest.importorskip("skorch")
    from skorch.dataset import ValidSplit

    seen = []

    class Noting(type(make_net())):
        def train_step(self, batch, **kwargs):
            seen.append(len(batch[1]))
            return super().train_step(batch, **kwargs)

    net = fit(make_small_net(5, lr=0.5, train_split=ValidSplit()))
    net.__class__ = Noting
    forget(Relabeling(n_epochs=1), net)
    assert sum(seen) == 10 + 24  # a fifth of the records that stay is for validation


@pytest.mark.parametrize("way", [FineTuning(6), Relabeling(2, 6)], ids=["finetune", "relabel"])
def test_callbacks_that_look_at_scores_neither_end_nor_undo_the_passes_of_a_net(way, tmp_path):
    skorch = pytest.importorskip("skorch")
    looks = [
        ("stop", skorch.callbacks.EarlyStopping(patience=1, threshold=9)),
        ("plateau", skorch.callbacks.LRScheduler("ReduceLROnPlateau", monitor="valid_loss")),
        ("best", skorch.callbacks.Checkpoint(dirname=tmp_path, load_best=True)),
        ("schedule", skorch.callbacks.LRScheduler("StepLR", step_size=1)),
    ]
    split = skorch.dataset.ValidSplit()
    net = fit(make_small_net(5, lr=0.5, train_split=split, max_epochs=9, callbacks=looks))
    assert len(net.history) < 9
    after = forget(way, net)
    assert len(after.history) - len(net.history) == (8 if isinstance(way, Relabeling) else 6)
    assert [name for name, _ in after.callbacks_][-4:] == [name for name, _ in looks]


def test_callbacks_that_look_at_scores_are_told_from_those_that_do_not():
    callbacks = pytest.importorskip("skorch.callbacks")
    answers = [
        (callbacks.EarlyStopping(), True, True),
        (callbacks.Checkpoint(load_best=True, monitor=None), True, True),
        (callbacks.Checkpoint(monitor="valid_loss_best"), False, True),
        (callbacks.Checkpoint(monitor=None), False, False),
        (callbacks.LRScheduler("ReduceLROnPlateau", monitor="train_loss"), False, False),
        (callbacks.PrintLog(), False, False),
    ]
    for callback, of_part, of_whole in answers:
        assert unlearning._looks_at_scores(callback, whole=False) is of_part, callback
        assert unlearning._looks_at_scores(callback, whole=True) is of_whole, callback


@pytest.mark.parametrize("maker", MAKERS)
def test_negative_weights_increase_the_loss_of_forgotten_records(maker):
    model = MAKERS[maker]()
    after = forget(NegativeWeights(n_epochs=0), model)
    assert loss(after, FORGET) > loss(model, FORGET)


@pytest.mark.parametrize("maker", MAKERS)
def test_fine_tuning_reduces_the_loss_of_the_records_that_stay(maker):
    model = MAKERS[maker]()
    assert loss(forget(FineTuning(50), model), KEEP) < loss(model, KEEP)


def test_a_pass_with_negative_weights_undoes_the_counts_of_naive_bayes():
    counts = Records(RNG.integers(5, size=(60, 4)), RECORDS.y)
    model = MultinomialNB().fit(counts.X[:40], counts.y[:40])
    after = forget(NegativeWeights(n_epochs=0), model, counts)
    exact = MultinomialNB().fit(counts.X[KEEP], counts.y[KEEP])
    np.testing.assert_allclose(after.predict_proba(counts.X), exact.predict_proba(counts.X))


class Noting(SGDClassifier):
    def partial_fit(self, X, y, **settings):
        self.passes_ = [*getattr(self, "passes_", []), (X, y, settings)]
        return super().partial_fit(X, y, **settings)


def wrap(last):
    return make_pipeline(StandardScaler(), make_pipeline(MinMaxScaler(), make_pipeline(last)))


@pytest.mark.parametrize(
    "way, forgets, learns",
    [(FineTuning(2), 0, 2), (NegativeWeights(), 1, 1), (Relabeling(2, 3), 2, 3)],
    ids=["finetune", "negative", "relabel"],
)
def test_each_pass_has_all_rows_in_another_order_as_the_last_step_gets_them(way, forgets, learns):
    model = fit(wrap(Noting(loss="log_loss", random_state=0)))
    rows = model[-1][:-1].transform(model[:-1].transform(X))
    passes = forget(way, model)[-1][-1][-1].passes_
    assert len(passes) == forgets + learns and not hasattr(model[-1][-1][-1], "passes_")
    orders = [[(rows == row).all(axis=1).argmax() for row in seen] for seen, _, _ in passes]
    for k, (order, (seen, y, settings)) in enumerate(zip(orders, passes, strict=True)):
        np.testing.assert_array_equal(seen, rows[order])
        wanted = FORGET if k < forgets else KEEP
        assert sorted(order) == wanted.tolist() and order != wanted.tolist()
        goes_back = k < forgets and isinstance(way, NegativeWeights)
        if k >= forgets or goes_back:
            np.testing.assert_array_equal(y, RECORDS.y[order])
        assert settings.keys() == ({"sample_weight"} if goes_back else set())
        np.testing.assert_array_equal(settings.get("sample_weight", []), [-1] * 10 * goes_back)
    assert len({tuple(order) for order in orders}) == len(orders)


def test_relabeling_draws_labels_of_records_that_stay_and_keeps_them():
    only = np.where(np.arange(60) < 30, np.arange(60) % 2, 2)  # those that are forgotten have 2
    records = Records(X, only)
    model = Noting(loss="log_loss", random_state=0).fit(X[:40], only[:40])
    first, again = (
        sorted(zip(rows[:, 0].tolist(), y.tolist(), strict=True))
        for rows, y, _ in forget(Relabeling(2, 0), model, records).passes_
    )
    assert first == again and {y for _, y in first} == {0, 1}


def test_noise_has_the_scale_that_was_asked_for():
    rows = np.random.default_rng(0).normal(size=(500, 400))
    model = Ridge().fit(rows, rows @ np.linspace(-1, 1, 400))
    noise = forget(WeightNoise(0.2), model).coef_ - model.coef_
    assert noise.std() == pytest.approx(0.2 * model.coef_.std(), rel=0.15)
    assert noise.mean() == pytest.approx(0, abs=5 * noise.std() / 20)


def test_noise_of_perceptrons_and_of_single_numbers():
    model = fit(MLPClassifier((3,), solver="lbfgs", max_iter=500, random_state=0))
    after = forget(WeightNoise(), model)
    assert all((a != b).any() for a, b in zip(model.coefs_, after.coefs_, strict=True))
    single = LinearRegression().fit(X[:, :1], X[:, 0] + 3)
    assert forget(WeightNoise(), single).intercept_ != single.intercept_


def test_retraining_is_a_fit_without_the_forgotten_records():
    weights = np.random.default_rng(0).random(60) * 3
    weighted = Records(X, RECORDS.y, sample_weight=weights)
    after = forget(Retraining(), fit(LogisticRegression()), weighted)
    exact = LogisticRegression().fit(X[KEEP], RECORDS.y[KEEP], sample_weight=weights[KEEP])
    np.testing.assert_allclose(after.coef_, exact.coef_)
    assert forget(NoUnlearning(), after) is after


def test_retraining_has_a_seed_of_its_own():
    tree = fit(DecisionTreeClassifier(random_state=5))
    models = [
        Retraining()(tree, RECORDS, KEEP, FORGET, np.random.default_rng(seed)) for seed in (0, 0, 1)
    ]
    first, again, other = (model.random_state for model in models)
    assert first == again and len({first, other, 5}) == 3


def test_sisa_trains_the_shards_of_forgotten_records_again():
    weights = np.random.default_rng(0).random(60) * 3
    weighted, rest = Records(X, RECORDS.y, sample_weight=weights), np.delete(np.arange(40), 35)
    model = SISA(8).prepare(Ridge()).fit(X[:40], RECORDS.y[:40], weights[:40])
    after = SISA(8)(model, weighted, rest, np.array([35]), np.random.default_rng(0))
    changed = [shard for shard in model.models_ if after.models_[shard] is not model.models_[shard]]
    assert changed == [(RECORDS.fingerprint % np.uint64(8))[35]]
    exact = SISA(8).prepare(Ridge()).fit(X[rest], RECORDS.y[rest], weights[rest])
    np.testing.assert_allclose(after.predict(X), exact.predict(X), rtol=1e-4)


def test_sisa_trains_a_model_on_the_rows_and_weights_of_each_shard():
    shards, weights = RECORDS.fingerprint[:40] % np.uint64(3), np.linspace(0.5, 3, 40)
    model = SISA(3).prepare(Ridge()).fit(X[:40], RECORDS.y[:40], weights)
    assert sorted(model.models_) == [0, 1, 2]
    for shard, part in model.models_.items():
        rows = np.flatnonzero(shards == shard)
        exact = Ridge().fit(X[rows], RECORDS.y[rows], weights[rows])
        np.testing.assert_allclose(part.coef_, exact.coef_, rtol=1e-4)
    # Of an estimator that takes no weights, all rows count the same.
    votes = KNeighborsClassifier(3)
    models = [SISA(3).prepare(votes).fit(X[:40], RECORDS.y[:40], some) for some in (weights, None)]
    np.testing.assert_array_equal(*(one.query(X).values for one in models))


def test_sisa_seeds_the_model_of_each_shard():
    trees = SISA(3).prepare(DecisionTreeClassifier(random_state=5))
    seeds = []
    for random_state in (0, 0, 1):
        parts = fit(clone(trees).set_params(random_state=random_state)).models_.values()
        seeds.append([part.random_state for part in parts])
    assert seeds[0] == seeds[1] and len({5, *seeds[0], *seeds[2]}) == 7


def test_sisa_finds_a_record_whose_label_the_net_was_given_in_another_type():
    records = Records(X, RECORDS.y.astype(np.int32))  # the loss takes int64
    model = fit(SISA(8).prepare(make_net().set_params(max_epochs=1)))
    home = (RECORDS.fingerprint % np.uint64(8))[35]
    after = SISA(8)(model, records, KEEP, np.array([35]), np.random.default_rng(0))
    changed = [shard for shard in model.models_ if after.models_[shard] is not model.models_[shard]]
    assert changed == [home]
    assert (records.fingerprint % np.uint64(8))[35] != home


def test_sisa_refuses_to_forget_a_record_that_its_model_has_not_seen():
    one_unseen = np.append(FORGET, NEVER[0])
    with pytest.raises(ValueError, match="it was not trained on all of these"):
        SISA(3)(fit(SISA(3).prepare(Ridge())), RECORDS, KEEP, one_unseen, np.random.default_rng(0))


@pytest.mark.parametrize("estimator", [Ridge(), LogisticRegression()])
def test_sisa_averages_the_models_of_shards(estimator):
    model = fit(SISA(3).prepare(estimator))
    kind = "predict" if isinstance(estimator, Ridge) else "predict_proba"
    answers = [getattr(part, kind)(X) for part in model.models_.values()]
    np.testing.assert_allclose(model.query(X).values, np.mean(answers, axis=0), rtol=1e-5)


def test_sisa_counts_labels_as_votes():
    model = fit(SISA(3).prepare(VotingClassifier([("tree", DecisionTreeClassifier())])))
    votes = [part.predict(X)[:, None] == [0, 1] for part in model.models_.values()]
    np.testing.assert_allclose(model.query(X).values, np.mean(votes, axis=0))


def test_sisa_averages_the_probabilities_of_models_with_logits():
    class Net(LogisticRegression):
        answers_queries = True

        def query(self, X):
            return Outputs(1 + self.predict_log_proba(X), self.classes_, "logits")

    model = fit(SISA(3).prepare(Net()))
    answers = model.query(X)
    assert answers.kind == "proba"
    proba = [part.predict_proba(X) for part in model.models_.values()]
    np.testing.assert_allclose(answers.values, np.mean(proba, axis=0))


def test_sisa_predicts_the_class_with_the_largest_average():
    named = np.array(["no", "yes"])[RECORDS.y]
    model = SISA(3).prepare(LogisticRegression()).fit(X[:40], named[:40])
    assert len(model.models_) == 3
    proba = np.mean([part.predict_proba(X) for part in model.models_.values()], axis=0)
    guesses = model.predict(X)
    np.testing.assert_array_equal(guesses, np.where(proba[:, 1] > 0.5, "yes", "no"))
    assert set(guesses) == {"no", "yes"}
    numbers = fit(SISA(3).prepare(Ridge()))
    np.testing.assert_array_equal(numbers.predict(X), numbers.query(X).values)


def test_sisa_has_no_model_of_a_shard_whose_records_are_all_forgotten():
    model, shards = fit(SISA(8).prepare(Ridge())), RECORDS.fingerprint[:40] % np.uint64(8)
    forgotten, rest = np.flatnonzero(shards == 2), np.flatnonzero(shards != 2)
    after = SISA(8)(model, RECORDS, rest, forgotten, np.random.default_rng(0))
    assert model.models_.keys() - after.models_.keys() == {2}
    assert all(after.models_[shard] is model.models_[shard] for shard in after.models_)


def test_sisa_does_not_know_a_class_that_was_forgotten():
    records = Records(X, np.where(np.arange(60) == 35, 2, RECORDS.y))
    model = SISA(2).prepare(DecisionTreeClassifier()).fit(X[:40], records.y[:40])
    after = SISA(2)(model, records, KEEP, np.array([35]), np.random.default_rng(0))
    assert (model.classes_.tolist(), after.classes_.tolist()) == ([0, 1, 2], [0, 1])
    assert after.query(X).values.shape == (60, 2)


def test_sisa_names_a_shard_that_cannot_be_trained_again():
    shards = RECORDS.fingerprint[:40] % np.uint64(3)
    of_shard, is_one = np.flatnonzero(shards == 1), RECORDS.y[:40] == 1
    rest = of_shard[is_one[of_shard]]
    words = f"Shard 1 could not be trained on its {len(rest)} records with 1 different labels; "
    with pytest.raises(TrainingError, match=f"^{words}use fewer shards or more records: This "):
        SISA(3)(
            fit(SISA(3).prepare(LogisticRegression())),
            RECORDS,
            rest,
            np.setdiff1d(of_shard, rest),
            np.random.default_rng(0),
        )


def test_a_model_of_shards_that_is_not_fitted_says_so():
    with pytest.raises(NotFittedError):
        SISA(3).prepare(Ridge()).predict(X)


def test_sisa_averages_a_decision_value_over_the_models_that_know_its_class():
    rows, y = np.arange(40), np.array(["a", "b"])[RECORDS.y[:40]]
    shards = (Records(X[rows], y).fingerprint % np.uint64(3)).astype(int)
    rows = rows[(shards != 0) | (y == "a")]  # the first shard is left with a single class
    model = SISA(3).prepare(RidgeClassifier()).fit(X[rows], y[rows])
    (alone, *others) = (model.models_[k] for k in range(3))
    assert alone.classes_ == ["a"]
    values = model.query(X).values
    np.testing.assert_allclose(values[:, 0], 0)
    np.testing.assert_allclose(values[:, 1], np.mean([p.decision_function(X) for p in others], 0))


@pytest.mark.parametrize(
    "way",
    [
        "finetune",
        *(
            pytest.param(way, marks=pytest.mark.slow)
            for way in ("noise", "negative", "relabel", "sisa", "noop")
        ),
    ],
)
def test_nets_of_skorch_play(way):
    net = make_net().set_params(max_epochs=3)
    settings = {"n_estimators": 4, "n_targets": 2, "forget": 0.3, "random_state": 0}
    game = unlearning_game(net, way, RECORDS, **settings)
    assert np.isfinite(game.aucs.to_numpy()).all()


def test_training_loops_of_torch_play_with_functions():
    torch = pytest.importorskip("torch")

    def train(X, y, seed):
        torch.manual_seed(seed)
        module = torch.nn.Linear(X.shape[1], 2)
        return train_further(module, X, y, 20)

    def train_further(module, X, y, n_steps):
        optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
        for _ in range(n_steps):
            optimizer.zero_grad()
            answers = module(torch.as_tensor(np.array(X)))
            torch.nn.functional.cross_entropy(answers, torch.as_tensor(y)).backward()
            optimizer.step()
        return module

    def unlearn(module, records, keep, forget, rng):
        return train_further(module, records.X[keep], records.y[keep], 5)

    game = unlearning_game(train, unlearn, RECORDS, n_estimators=4, n_targets=2, random_state=0)
    assert game.way == "unlearn of train"
    assert np.isfinite(game.aucs.to_numpy()).all()
