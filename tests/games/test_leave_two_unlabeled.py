"""Attackers who know all members but the one of a pair."""

from itertools import product

import numpy as np
import pytest
from joblib import parallel_config
from scipy.stats import gaussian_kde, norm
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import ThresholdAttack
from skmia.games import DensityAttack, leave_two_unlabeled, retraining_oracle
from skmia.leakage.bounds import bounded_loss_accuracy
from skmia.testing import check_attack, make_attack_problem


class ByColumn(BaseEstimator):
    """Scores a record by its first feature."""

    def fit(self, records, membership=None):
        self.n_, self.membership_ = len(records), membership
        return self

    def score_samples(self, records):
        return records.X[:, 0]


def scored(scores):
    return Records(np.asarray(scores, dtype=float)[:, None], np.zeros(len(scores), dtype=int))


# Pairs and privacy


@pytest.mark.parametrize("sign", [1, -1])
def test_the_privacy_of_drawn_pairs_follows_from_their_accuracy(sign):
    scores, membership = sign * np.array([3.0, 1.0, 2.0, 0.0]), np.array([1, 1, 0, 0])
    settings = {"n_rounds": 100, "random_state": 0}
    result = leave_two_unlabeled(ByColumn(), scored(scores), membership, **settings)
    accuracy = result.accuracy
    assert (accuracy > 0.5) == (sign > 0)
    assert result.privacy == pytest.approx(2 * (1 - accuracy) if sign > 0 else 1)
    assert result.accuracy_error == pytest.approx(np.sqrt(accuracy * (1 - accuracy) / 100))
    # The bar is not cut where the privacy is.
    assert result.privacy_error == pytest.approx(2 * result.accuracy_error)


def accuracy_by_loop(scores, membership):
    pairs = list(product(scores[membership == 1], scores[membership == 0]))
    return np.mean([(a > b) + 0.5 * (a == b) for a, b in pairs])


@pytest.mark.parametrize("n_values", [1, 3, 1000])
def test_over_all_pairs_the_accuracy_is_the_area_under_the_curve_ties_included(n_values):
    rng = np.random.default_rng(0)
    scores, membership = rng.integers(n_values, size=50), rng.permutation(50) % 2
    result = leave_two_unlabeled(ByColumn(), scored(scores), membership)
    assert result.accuracy == pytest.approx(accuracy_by_loop(scores, membership), abs=1e-12)
    assert result.accuracy == pytest.approx(roc_auc_score(membership, scores), abs=1e-12)
    assert result.n_rounds == 625
    # The closed form: what the larger loss gives away, half of the difference of two chances.
    losses = -scores
    pairs = np.subtract.outer(losses[membership == 0], losses[membership == 1])
    gained = np.mean(pairs > 0) - np.mean(pairs < 0)
    assert result.accuracy == pytest.approx(0.5 + gained / 2, abs=1e-12)


def test_the_error_of_all_pairs_is_the_spread_over_populations():
    def play(seed):
        rng = np.random.default_rng(seed)
        membership = np.arange(60) % 2
        return leave_two_unlabeled(ByColumn(), scored(rng.normal(membership, 1)), membership)

    n_populations = 80
    results = [play(seed) for seed in range(n_populations)]
    spread = np.std([one.accuracy for one in results])
    # The standard error of a standard deviation is 1 / sqrt(2 n) of it.
    rel = 4 / np.sqrt(2 * n_populations)
    assert np.mean([one.accuracy_error for one in results]) == pytest.approx(spread, rel=rel)
    # Counting pairs as independent would make the bar several times too short.
    assert spread > 3 * np.sqrt(0.76 * 0.24 / 900)


def test_the_error_of_people_with_equal_records_is_that_of_one_record_each():
    rng = np.random.default_rng(0)
    membership = np.arange(30) % 2
    scores = rng.normal(membership, 1)
    one = leave_two_unlabeled(ByColumn(), scored(scores), membership)
    many = scored(np.repeat(scores, 4)).with_fields(group_by=np.repeat(np.arange(30), 4))
    result = leave_two_unlabeled(ByColumn(), many, np.repeat(membership, 4))
    assert result.accuracy == pytest.approx(one.accuracy)
    assert result.accuracy_error == pytest.approx(one.accuracy_error)
    alone = leave_two_unlabeled(ByColumn(), scored(many.X[:, 0]), np.repeat(membership, 4))
    assert alone.accuracy_error < 0.6 * result.accuracy_error


class JudgesSome(ByColumn):
    """It judges records above a limit, and up to another one."""

    def __init__(self, least=-1.0, most=np.inf):
        self.least = least
        self.most = most

    def can_judge(self, records):
        return (records.X[:, 0] > self.least) & (records.X[:, 0] <= self.most)


@pytest.mark.parametrize("n_rounds", [None, 60])
def test_records_that_the_attack_cannot_judge_are_in_no_pair(n_rounds):
    rng = np.random.default_rng(0)
    membership = np.arange(50) % 2
    scores = rng.normal(membership, 1)
    judged = scores > -1
    people = np.arange(50) // 4
    records = scored(scores).with_fields(group_by=people)
    settings = {"n_rounds": n_rounds, "random_state": 0}
    result = leave_two_unlabeled(JudgesSome(), records, membership, **settings)
    expected = leave_two_unlabeled(ByColumn(), records[judged], membership[judged], **settings)
    assert result == expected
    assert 0 < (~judged & (membership == 0)).sum()


@pytest.mark.parametrize(
    "limits, judged",
    [((2, 9), "2 members and 0 non-members"), ((0, 2), "0 members and 2 non-members")],
)
def test_an_attack_that_judges_one_side_alone_plays_no_pair(limits, judged):
    with pytest.raises(ValueError, match=f"can judge {judged}; a pair needs one of each"):
        leave_two_unlabeled(JudgesSome(*limits), scored([3, 4, 1, 2]), [1, 1, 0, 0])


def test_of_a_single_member_the_error_is_the_largest_that_its_accuracy_allows():
    # The member outranks three of four, each of which it outranks or not.
    result = leave_two_unlabeled(ByColumn(), scored([2.5, 0, 1, 2, 3]), [1, 0, 0, 0, 0])
    member, others = 0.75 * 0.25, np.var([1, 1, 1, 0], ddof=1) / 4
    assert result.accuracy == 0.75
    assert result.accuracy_error == pytest.approx(np.sqrt(member + others))


def test_drawn_pairs_estimate_the_accuracy_of_all():
    rng = np.random.default_rng(0)
    scores, membership = rng.integers(5, size=80), rng.permutation(80) % 2
    scores = scores + membership
    expected = accuracy_by_loop(scores, membership)
    result = leave_two_unlabeled(
        ByColumn(), scored(scores), membership, n_rounds=4000, random_state=0
    )
    assert result.accuracy == pytest.approx(expected, abs=4 * result.accuracy_error)
    assert result.privacy == pytest.approx(2 * (1 - result.accuracy))


def test_with_refit_the_attack_learns_from_all_labels_but_two():
    seen = []

    class Watching(ByColumn):
        def fit(self, records, membership=None):
            seen.append((set(records.X[:, 0]), membership.sum()))
            return super().fit(records, membership)

        def score_samples(self, records):
            assert len(records) == 2
            assert not seen[-1][0] & set(records.X[:, 0])
            return super().score_samples(records)

    membership = np.repeat([1, 0], 10)
    result = leave_two_unlabeled(
        Watching(), scored(np.arange(20)), membership, refit=True, n_rounds=15, random_state=0
    )
    assert len(seen) == 15 and all(len(rows) == 18 and n == 9 for rows, n in seen)
    assert result.accuracy == 0.0  # the members are the lower ones


def test_attacks_start_no_workers_where_rounds_are_played_in_parallel():
    seen = set()

    class Parallel(ByColumn):
        def __init__(self, n_jobs=None):
            self.n_jobs = n_jobs

        def fit(self, records, membership=None):
            seen.add(self.n_jobs)
            return super().fit(records, membership)

    given = Parallel(n_jobs=3), scored(np.arange(6)), np.arange(6) % 2
    with parallel_config("threading"):
        leave_two_unlabeled(*given, refit=True, n_rounds=2)
        assert seen == {3}
        leave_two_unlabeled(*given, refit=True, n_rounds=2, n_jobs=2)
    assert seen == {1, 3} and given[0].n_jobs == 3


def test_labels_help_an_attack_that_learns_from_them():
    class Nearest(ByColumn):
        def fit(self, records, membership=None):
            self.members_ = records.X[membership == 1, 0]
            return self

        def score_samples(self, records):
            return -np.abs(records.X[:, 0, None] - self.members_).min(axis=1)

    rng = np.random.default_rng(0)
    membership = np.arange(60) % 2
    records = scored(rng.normal(3 * membership, 0.5))
    settings = {"refit": True, "n_rounds": 60, "random_state": 0}
    one = leave_two_unlabeled(Nearest(), records, membership, **settings)
    assert one.accuracy > 0.9
    with parallel_config("threading"):
        assert one == leave_two_unlabeled(Nearest(), records, membership, n_jobs=2, **settings)


def test_pairs_depend_on_random_state_alone():
    rng = np.random.default_rng(0)
    records, membership = scored(rng.normal(size=40)), np.arange(40) % 2
    first, again, other = (
        leave_two_unlabeled(ByColumn(), records, membership, n_rounds=30, random_state=seed)
        for seed in (0, 0, 3)
    )
    assert first == again != other


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"refit": True}, "n_rounds must be a number if refit=True"),
        ({"membership": np.ones(6)}, "membership holds one class only"),
        ({"n_rounds": 0}, "'n_rounds' parameter of leave_two_unlabeled"),
        ({"attack": GaussianNB()}, "attack must be an attack on membership; got GaussianNB"),
    ],
)
def test_what_cannot_be_played_is_refused(changes, message):
    arguments = {
        "attack": ByColumn(),
        "records": scored(np.arange(6)),
        "membership": np.arange(6) % 2,
        **changes,
    }
    with pytest.raises((TypeError, ValueError), match=message):
        leave_two_unlabeled(**arguments)


# The attacker who guesses by chance


def test_the_accuracy_of_guessing_in_proportion_to_the_loss_is_that_of_the_game():
    rng = np.random.default_rng(0)
    membership = rng.permutation(200) % 2
    losses = rng.uniform(0, 2, 200) * np.where(membership, 0.5, 1.0)
    accuracy = bounded_loss_accuracy(membership, losses, bound=2.0)
    n_rounds = 40_000
    # The game itself: one record of a pair, called non-member with probability loss / bound.
    picked = rng.integers(2, size=n_rounds)
    rows = np.where(
        picked,
        rng.choice(np.flatnonzero(membership == 1), n_rounds),
        rng.choice(np.flatnonzero(membership == 0), n_rounds),
    )
    says_nonmember = rng.random(n_rounds) < losses[rows] / 2.0
    right = says_nonmember == (picked == 0)
    assert accuracy == pytest.approx(right.mean(), abs=4 * np.sqrt(0.25 / n_rounds))
    gap = losses[membership == 0].mean() - losses[membership == 1].mean()
    assert accuracy == pytest.approx(0.5 + gap / 4)


def test_the_largest_loss_is_the_bound_where_none_is_given():
    assert bounded_loss_accuracy([1, 0], [1.0, 4.0]) == pytest.approx(0.5 + 3 / 8)


@pytest.mark.parametrize(
    ("losses", "bound", "message"),
    [
        ([-1.0, 1.0], 1.0, "between 0 and the bound 1; got -1 to 1"),
        ([-1.0, 1.0], 1.5, "between 0 and the bound 1.5; got -1 to 1"),
        ([0.0, 2.0], 1.0, "between 0 and the bound 1; got 0 to 2"),
        ([0.0, 0.0], None, "bound must be a positive number; got 0.0"),
        ([0.0, np.nan], 1.0, "losses must be finite"),
    ],
)
def test_losses_outside_the_bound_are_refused(losses, bound, message):
    with pytest.raises(ValueError, match=message):
        bounded_loss_accuracy([1, 0], losses, bound=bound)


def test_losses_may_be_0_and_the_bound():
    assert bounded_loss_accuracy([1, 0], [0.0, 1.0], bound=1.0) == 1.0


# Densities


@pytest.fixture(scope="module")
def world():
    """Log odds of 20 models on 300 records, and of a victim."""
    rng = np.random.default_rng(0)
    inside = rng.random((20, 300)) < 0.5
    scores = rng.normal(1.0 * inside, np.where(inside, 0.5, 1.0))
    records = Records(np.arange(300.0)[:, None], np.ones(300, dtype=int))
    membership = rng.integers(2, size=300)
    answers = rng.normal(1.0 * membership, np.where(membership, 0.5, 1.0))
    outputs = Outputs(np.column_stack([np.zeros(300), answers]), [0, 1], "logits")
    pool = FrozenEstimator(ShadowPool.from_scores(scores, inside, records))
    return records.with_fields(outputs=outputs), membership, pool, scores, inside, answers


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


@pytest.mark.parametrize("statistic", ["confidence", "auto"])
@pytest.mark.parametrize("density", ["normal", "kde"])
def test_the_score_is_the_log_ratio_of_the_two_densities(world, density, statistic):
    records, _, pool, scores, inside, answers = world
    attack = DensityAttack(shadows=pool, density=density, statistic=statistic).fit(records)
    found = attack.score_samples(records)
    if statistic == "confidence":
        scores, answers = sigmoid(scores), sigmoid(answers)
    expected = []
    for j, answer in enumerate(answers[:80]):
        logs = []
        for chosen in (inside[:, j], ~inside[:, j]):
            sample = scores[chosen, j]
            if density == "normal":
                logs.append(norm.logpdf(answer, sample.mean(), sample.std(ddof=1)))
            else:
                logs.append(gaussian_kde(sample, "scott").logpdf(answer)[0])
        expected.append(logs[0] - logs[1])
    # The pool holds float32.
    np.testing.assert_allclose(found[:80], expected, rtol=2e-3, atol=2e-3)
    member = attack.predict_proba(records)[:, 1]
    np.testing.assert_allclose(member, sigmoid(found))
    assert attack.offset_ == 0.0


def test_far_from_all_models_the_kernel_density_is_still_a_number(world):
    records, _, pool, *_ = world
    far = Outputs(np.column_stack([np.zeros(300), np.full(300, 80.0)]), [0, 1], "logits")
    attack = DensityAttack(shadows=pool, density="kde", statistic="auto").fit(records)
    scores = attack.score_samples(records.with_fields(outputs=far))
    assert np.isfinite(scores).all() and np.abs(scores).max() > 745  # where exp() is 0


def test_equal_answers_have_a_density_too():
    inside = np.repeat([[True], [False]], 4, axis=0)
    records = Records([[0.0]], [1])
    pool = ShadowPool.from_scores(np.where(inside, 2.0, 0.0), inside, records)
    attack = DensityAttack(shadows=FrozenEstimator(pool), statistic="auto")
    for answer, sign in ((2.0, 1), (0.0, -1)):
        outputs = Outputs([[0.0, answer]], [0, 1], "logits")
        score = attack.fit(records.with_fields(outputs=outputs)).score_samples(
            records.with_fields(outputs=outputs)
        )
        assert np.isfinite(score).all() and np.sign(score) == sign


@pytest.mark.parametrize("density", ["normal", "kde"])
def test_densities_find_the_members_of_a_world_that_differs_in_mean_and_spread(world, density):
    records, membership, pool, *_ = world
    attack = DensityAttack(shadows=pool, density=density, statistic="auto")
    result = leave_two_unlabeled(attack, records, membership)
    # The likelihood ratio of the true densities, from a large sample.
    rng = np.random.default_rng(1)
    ratio = [
        norm.logpdf(x, 1, 0.5) - norm.logpdf(x, 0, 1)
        for x in (rng.normal(1, 0.5, 20_000), rng.normal(0, 1, 20_000))
    ]
    best = roc_auc_score(np.repeat([1, 0], 20_000), np.concatenate(ratio))
    assert 0.6 < result.accuracy < best + 3 * result.accuracy_error


@pytest.mark.parametrize("is_in", [True, False])
def test_too_few_models_are_refused(world, is_in):
    records, _, _, scores, inside, _ = world
    inside = np.full_like(inside, not is_in)
    inside[0] = is_in
    pool = FrozenEstimator(ShadowPool.from_scores(scores, inside, records))
    attack = DensityAttack(shadows=pool)
    with pytest.raises(ValueError, match="at least 2 IN and 2 OUT"):
        attack.fit(records).score_samples(records)


def test_probabilities_of_a_regressor_are_refused():
    problem = make_attack_problem(DecisionTreeRegressor(max_depth=3, random_state=0))
    with pytest.raises(
        ValueError, match="'confidence' reads 'proba' or 'logits'; .*'auto' is suitable"
    ):
        DensityAttack(problem.victim, problem.shadows).fit(problem.records)
    DensityAttack(problem.victim, problem.shadows, statistic="auto").fit(problem.records)


PROBLEM = make_attack_problem()


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(
            DensityAttack(PROBLEM.victim, PROBLEM.shadows), id="normal", marks=pytest.mark.slow
        ),
        pytest.param(
            DensityAttack(PROBLEM.victim, PROBLEM.shadows, density="kde", statistic="auto"),
            id="kde",
        ),
    ],
)
def test_density_attacks_keep_what_all_attacks_keep(attack):
    check_attack(attack, PROBLEM.records, PROBLEM.membership)


# Training again


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    records = Records(rng.normal(size=(60, 4)), rng.integers(2, size=60))
    return records, rng.permutation(60) % 2


def train(model, people):
    records, membership = people
    members = records[membership == 1]
    return model.fit(np.array(members.X), np.array(members.y))


@pytest.mark.parametrize(
    "model",
    [
        GaussianNB(),
        KNeighborsClassifier(3),
        LinearRegression(),
        make_pipeline(StandardScaler(), GaussianNB()),
        RandomForestClassifier(5, random_state=0),
        GridSearchCV(Ridge(), {"alpha": [1.0, 2.0]}, cv=2),  # keeps the times of its fits
        make_pipeline(StandardScaler(), GridSearchCV(GaussianNB(), {}, cv=2)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_training_that_is_deterministic_and_injective_is_seen_through_always(model, people):
    victim = train(clone(model), people)
    for given in (victim, FrozenEstimator(victim)):
        result = retraining_oracle(given, *people, n_rounds=4, random_state=0)
        assert result.accuracy == 1.0 and result.privacy == 0.0


class Forgetful(BaseEstimator):
    """A model that is the same whatever it was trained on."""

    def fit(self, X, y):
        self.rows_ = len(X)
        return self

    def predict(self, X):
        return np.zeros(len(X))


class Random(Forgetful):
    """A model that is never the same twice."""

    def fit(self, X, y):
        self.secret_ = np.random.default_rng().random()
        return super().fit(X, y)


@pytest.mark.parametrize("model", [Forgetful(), Random()], ids=["always equal", "never equal"])
def test_a_coin_is_left_where_both_or_neither_match(model, people):
    result = retraining_oracle(train(model, people), *people, n_rounds=5)
    assert result.accuracy == 0.5 and result.privacy == 1.0


def test_a_wrong_recipe_can_be_wrong_about_the_pair(people):
    records, membership = people

    class Greedy(Forgetful):
        """Equal to the victim only where a certain record is trained on that the victim lacks."""

        def fit(self, X, y):
            self.rows_ = len(X) if (X == other).all(axis=1).any() else 0
            return self

    other = records.X[np.flatnonzero(membership == 0)[0]]
    victim = Forgetful().fit(*2 * [np.zeros((30, 4))])
    few = Records(records.X, records.y)
    keep = np.flatnonzero(membership == 1).tolist() + [np.flatnonzero(membership == 0)[0]]
    result = retraining_oracle(
        victim,
        few[keep],
        membership[keep],
        estimator=Greedy(),
        parameters=lambda model: model.rows_,
        n_rounds=3,
    )
    assert result.accuracy == 0.0


def test_a_tree_that_does_not_look_at_a_record_keeps_it_secret():
    # Whichever of two equal records was trained on, the model is the same.
    X = np.array([[0.0], [1.0], [0.0], [1.0]])
    records, membership = Records(X, [0, 1, 0, 1]), np.array([1, 1, 0, 0])
    victim = DecisionTreeClassifier(random_state=0).fit(X[:2], [0, 1])
    result = retraining_oracle(victim, records, membership, n_rounds=50, random_state=0)
    # A record in place of its copy cannot be told; in place of the other one it can.
    assert 0.5 < result.accuracy < 1.0


def test_the_order_of_the_records_is_kept(people):
    # A running sum rounds differently in every order.
    class Summed(Forgetful):
        def fit(self, X, y):
            self.sum_ = np.cumsum(X[:, 0] * 10.0 ** (np.arange(len(X)) % 7))[-1]
            return super().fit(X, y)

    assert retraining_oracle(train(Summed(), people), *people, n_rounds=6).accuracy == 1.0


def test_a_victim_that_cannot_be_pickled_is_compared_by_its_parameters(people):
    double = FunctionTransformer(lambda X: 2 * X)
    victim = train(make_pipeline(double, Ridge(solver="cholesky")), people)
    settings = {"n_rounds": 4, "random_state": 0}
    with pytest.raises(TypeError, match="^Pipeline cannot be compared, .*<lambda>>"):
        retraining_oracle(victim, *people, **settings)
    with pytest.raises(TypeError, match="^What parameters returns cannot be compared"):
        retraining_oracle(victim, *people, parameters=lambda model: model, **settings)
    found = retraining_oracle(victim, *people, parameters=lambda model: model[-1].coef_, **settings)
    assert found.accuracy == 1.0


def list_thresholds(forest):
    return [tree.tree_.threshold for tree in forest.estimators_]


def test_the_numbers_are_the_same_for_every_n_jobs(people):
    victim = train(RandomForestClassifier(3, random_state=0, n_jobs=2), people)
    settings = {"parameters": list_thresholds, "n_rounds": 4, "random_state": 0}
    with parallel_config("threading"):
        one, two = (retraining_oracle(victim, *people, n_jobs=n, **settings) for n in (None, 2))
    assert one == two


def test_a_skorch_net_is_compared_by_its_weights(people):
    torch, skorch = pytest.importorskip("torch"), pytest.importorskip("skorch")
    records, membership = people

    def make_module():
        torch.manual_seed(0)
        return torch.nn.Linear(4, 2)

    records = Records(records.X.astype(np.float32), records.y.astype(np.int64))
    net = skorch.NeuralNetClassifier(
        make_module,
        criterion=torch.nn.CrossEntropyLoss,
        max_epochs=2,
        train_split=None,
        verbose=0,
    )
    for model in (net, make_pipeline(FunctionTransformer(), clone(net))):
        victim = train(model, (records, membership))
        assert retraining_oracle(victim, records, membership, n_rounds=3).accuracy == 1.0


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_on_how_many_processors_a_model_was_trained_is_not_what_it_learned(n_jobs, people):
    forest = RandomForestClassifier(3, random_state=0, n_jobs=2)
    for model in (BaggingClassifier(clone(forest), 2, random_state=0, n_jobs=2), forest):
        with parallel_config("threading"):
            victim = train(model, people)
            result = retraining_oracle(victim, *people, n_rounds=4, n_jobs=n_jobs, random_state=0)
        assert result.accuracy == 1.0
        assert victim.n_jobs == 2


def test_a_model_may_be_retrained_on_other_processors(people):
    forest = RandomForestClassifier(3, random_state=0, n_jobs=2)
    alone = clone(forest).set_params(n_jobs=None)
    for model, estimator in (
        (forest, alone),
        (BaggingClassifier(forest, 2, random_state=0), BaggingClassifier(alone, 2, random_state=0)),
    ):
        with parallel_config("threading"):
            victim = train(clone(model), people)
            settings = {"estimator": estimator, "n_rounds": 2, "random_state": 0}
            assert retraining_oracle(victim, *people, **settings).accuracy == 1.0


def test_what_a_model_prints_is_not_what_it_learned(people, capsys):
    victim = train(RandomForestClassifier(3, random_state=0, verbose=1), people)
    assert retraining_oracle(victim, *people, n_rounds=4, random_state=0).accuracy == 1.0
    assert victim.verbose == 1


def test_a_victim_that_is_not_fitted_is_refused(people):
    with pytest.raises(NotFittedError, match="GaussianNB is not fitted"):
        retraining_oracle(GaussianNB(), *people)


def test_the_attack_on_a_real_victim_agrees_with_the_curve(people):
    records, membership = people
    victim = FrozenEstimator(train(RandomForestClassifier(5, random_state=0), people))
    attack = ThresholdAttack(victim)
    expected = roc_auc_score(membership, attack.fit(records).score_samples(records))
    assert leave_two_unlabeled(attack, records, membership).accuracy == pytest.approx(expected)
