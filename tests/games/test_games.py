"""The membership game on learners whose leak is known, and what a user relies on besides."""

import warnings
from time import perf_counter

import numpy as np
import pandas as pd
import pytest
import training
from cells import slow_but
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool
from skmia.attacks import RMIA, LiRA, ShadowAttack, ThresholdAttack
from skmia.datasets import make_membership_problem
from skmia.games import membership_game

RIGHT = ThresholdAttack(signal="correctness")


class Rememberer(ClassifierMixin, BaseEstimator):
    """Remembers some of its training records and is right on all others where X says so.

    X holds a number for each record, its label, and whether the model is right about it without
    having seen it. With the share r of records that it remembers and the share q of records that
    it is wrong about otherwise, "member if right" has TPR = r + (1 - r)(1 - q) and FPR = 1 - q.
    """

    def __init__(self, share=0.5, random_state=None):
        self.share = share
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        self.trained_ = X[:, 0].astype(int)
        kept = np.random.default_rng(self.random_state).random(len(X)) < self.share
        self.remembered_ = self.trained_[kept]
        return self

    def predict(self, X):
        right = np.isin(X[:, 0], self.remembered_) | (X[:, 2] == 1)
        return np.where(right, X[:, 1], 1 - X[:, 1]).astype(int)


class Undecided(ThresholdAttack):
    """Cannot judge every third record, and flags those."""

    def can_judge(self, records):
        return records.X[:, 0] % 3 > 0

    def predict(self, records):
        return np.where(self.can_judge(records), super().predict(records), 1)


class Recorder(BaseEstimator):
    """An attack that notes what it is given and calls everybody a member."""

    def __init__(self, victim=None):
        self.victim = victim

    def fit(self, records):
        self.fitted_ = records.X[:, 0].astype(int)
        return self

    def predict(self, records):
        self.asked_ = records.X[:, 0].astype(int)
        return np.ones(len(records), dtype=int)


def make_population(n=300, wrong=(0.3, 0.6), **fields):
    """Records of two groups that a Rememberer is wrong about to different degrees."""
    rng = np.random.default_rng(0)
    group = np.arange(n) % 2
    y = rng.integers(2, size=n)
    right = rng.random(n) >= np.take(wrong, group)
    return Records(np.column_stack([np.arange(n), y, right]), y, group=group, **fields)


@pytest.fixture(scope="module")
def played():
    """A population, and a game of 100 rounds with it."""
    records = make_population()
    settings = {"groups": "group", "n_rounds": 100, "random_state": 0}
    return records, membership_game(Rememberer(0.5), RIGHT, records, **settings)


def test_the_mean_of_v_is_the_vulnerability_and_with_2_over_n_it_is_not(played):
    records, game = played
    truth = 0.5 * (records.X[:, 2] == 0).mean()
    v = game["vulnerability"]
    error = v.std(ddof=1) / np.sqrt(len(v))
    assert v.mean() == pytest.approx(truth, abs=4 * error)
    assert error < 0.007
    doubled = 2 * game["tpr"] + 2 * (1 - game["fpr"]) - 1
    assert doubled.mean() == pytest.approx(2 * truth + 1, abs=8 * error)


def test_a_coin_has_no_vulnerability():
    class Coin(Recorder):
        def __init__(self, victim=None, random_state=None):
            super().__init__(victim)
            self.random_state = random_state

        def predict(self, records):
            return np.random.default_rng(self.random_state).integers(2, size=len(records))

    game = membership_game(
        Rememberer(), Coin(), make_population(), n_rounds=100, test_size=0.2, random_state=0
    )
    # v has the variance 1/(4 * 120) + 1/(4 * 60) in a round.
    error = np.sqrt((1 / 120 + 1 / 60) / 4 / 100)
    assert abs(game["vulnerability"].mean()) < 4 * error
    assert game["vulnerability"].std() == pytest.approx(error * np.sqrt(100), rel=0.25)


def test_each_group_has_the_vulnerability_of_its_own(played):
    records, game = played
    table = game["group_vulnerability"]
    assert table.shape == (100, 2)
    assert table.columns.tolist() == [0, 1] and table.columns.name == "group"
    for group in (0, 1):
        truth = 0.5 * (records.X[records["group"] == group, 2] == 0).mean()
        error = table[group].std() / np.sqrt(100)
        assert table[group].mean() == pytest.approx(truth, abs=4 * error)
    pd.testing.assert_frame_equal(table, game["group_tpr"] - game["group_fpr"])
    # This attack guesses "member" where the victim is right, so that the gap is what it gains.
    np.testing.assert_allclose(game["group_gap"], table, atol=1e-12)


def test_the_worst_case_is_what_the_attack_on_correctness_gains():
    game = membership_game(Rememberer(), RIGHT, make_population(), n_rounds=5, random_state=0)
    np.testing.assert_allclose(game["worst_case"], np.abs(game["vulnerability"]))
    np.testing.assert_allclose(game["train_score"] - game["test_score"], game["vulnerability"])


def test_group_means_weighted_by_size_are_the_rates():
    records = make_population(n=101)
    game = membership_game(
        Rememberer(), Recorder(), records, groups="group", n_rounds=2, return_estimator=True
    )
    assert (game["group_tpr"] == 1).all(axis=None) and (game["tpr"] == 1).all()
    assert (game["group_vulnerability"] == 0).all(axis=None)


def test_a_group_that_is_missing_on_a_side_has_no_number():
    groups = np.zeros(300, dtype=int)
    groups[7] = 1  # a single person is on one side at most
    game = membership_game(
        Rememberer(), RIGHT, make_population(), groups=groups, n_rounds=30, random_state=0
    )
    assert game["group_vulnerability"][1].isna().all()
    assert game["group_vulnerability"][0].notna().all()
    # On the training side in about 2 rounds of 5.
    assert 4 < game["group_tpr"][1].notna().sum() < 20
    assert not (game["group_tpr"][1].notna() & game["group_fpr"][1].notna()).any()


def sides_of(game, i):
    victim, attack = game["estimator"][i], game["attack"][i]
    n_train = len(victim.trained_)
    return victim.trained_, attack.asked_[:n_train], attack.asked_[n_train:], attack.fitted_


def test_the_three_sets_are_disjoint_and_as_large_as_asked_for():
    game = membership_game(
        Rememberer(),
        Recorder(),
        make_population(),
        n_rounds=3,
        train_size=0.5,
        test_size=60,
        reference_size=0.25,
        return_estimator=True,
        random_state=0,
    )
    seen = []
    for i in range(3):
        trained, train, test, reference = sides_of(game, i)
        np.testing.assert_array_equal(trained, train)
        assert (len(train), len(test), len(reference)) == (150, 60, 75)
        assert len(np.unique(np.concatenate([train, test, reference]))) == 285
        seen.append(tuple(train))
    assert len(set(seen)) == 3


def test_records_of_one_person_stay_on_one_side():
    person = np.arange(300) // 7
    game = membership_game(
        Rememberer(),
        Recorder(),
        make_population(group_by=person),
        n_rounds=5,
        return_estimator=True,
        random_state=0,
    )
    for i in range(5):
        _, *sides = sides_of(game, i)
        people = [set(person[side]) for side in sides]
        assert not (people[0] & people[1] or people[0] & people[2] or people[1] & people[2])
        assert all(0 <= wanted - len(side) < 7 for wanted, side in zip((120, 120, 60), sides))


def test_equal_records_stay_on_one_side():
    records = make_population(n=150)
    twice = records[np.repeat(np.arange(150), 2)]
    game = membership_game(
        Rememberer(), Recorder(), twice, n_rounds=5, return_estimator=True, random_state=0
    )
    for i in range(5):
        _, *sides = sides_of(game, i)
        train, test, reference = map(set, sides)
        assert not (train & test or train & reference or test & reference)


def test_guesses_give_the_rates():
    records = make_population()
    game = membership_game(
        Rememberer(0.5),
        RIGHT,
        records,
        groups="group",
        n_rounds=4,
        test_size=0.2,
        return_guesses=True,
        random_state=0,
    )
    guesses, membership = game["guesses"], game["membership"]
    assert guesses.shape == membership.shape == (4, 300) and guesses.dtype == np.int8
    np.testing.assert_array_equal(guesses == -1, membership == -1)
    assert ((membership == 1).sum(axis=1) == 120).all()
    assert ((membership == 0).sum(axis=1) == 60).all()
    np.testing.assert_allclose(game["tpr"], [g[m == 1].mean() for g, m in zip(guesses, membership)])
    np.testing.assert_allclose(game["fpr"], [g[m == 0].mean() for g, m in zip(guesses, membership)])
    assert "guesses" not in membership_game(Rememberer(), RIGHT, records, n_rounds=1)


def test_copies_do_not_hide_the_leak():
    records = make_population()
    twice = records[np.repeat(np.arange(300), 2)]
    truth = 0.5 * (records.X[:, 2] == 0).mean()
    # A remembered record brings its copy with it, and either of two copies may be remembered.
    truth_twice = 0.75 * (records.X[:, 2] == 0).mean()
    for population, expected in ((records, truth), (twice, truth_twice)):
        game = membership_game(Rememberer(0.5), RIGHT, population, n_rounds=30, random_state=0)
        v = game["vulnerability"]
        assert v.mean() == pytest.approx(expected, abs=4 * v.std(ddof=1) / 30**0.5)


def test_every_record_is_a_member_equally_often():
    game = membership_game(
        Rememberer(),
        Recorder(),
        make_population(n=20),
        n_rounds=150,
        return_estimator=True,
        random_state=0,
    )
    count = np.bincount(np.concatenate([one.trained_ for one in game["estimator"]]), minlength=20)
    assert np.abs(count / 150 - 0.4).max() < 4 * np.sqrt(0.24 / 150)


def boundary_problem():
    records, _ = make_membership_problem(240, n_features=5, random_state=0)
    return records


def shadow_attack(model, **settings):
    tree = DecisionTreeClassifier(max_depth=2)
    pool = ShadowPool(model, 3, design="independent", store="outputs", **settings)
    return ShadowAttack(shadows=pool, attack_estimator=tree)


MLP = MLPClassifier((4,), solver="adam", max_iter=6, batch_size=16)
PLAYERS = {
    "forest": (RandomForestClassifier(3), shadow_attack(DecisionTreeClassifier(max_depth=4))),
    "perceptron": (MLP, shadow_attack(MLP)),
    "label only": (Rememberer(), RIGHT),
}


def assert_same_game(one, other, rtol=0.0):
    assert one.keys() == other.keys()
    for name in set(one) - {"fit_time", "attack_time", "estimator", "attack"}:
        np.testing.assert_allclose(one[name], other[name], rtol=rtol, atol=rtol, err_msg=name)


@pytest.mark.filterwarnings("ignore:.*Stochastic Optimizer")
@pytest.mark.parametrize("name", slow_but(PLAYERS, "forest", "label only"))
def test_the_numbers_are_the_same_for_every_n_jobs(name):
    records = make_population() if name == "label only" else boundary_problem()
    settings = {"n_rounds": 4, "random_state": 3, "groups": np.arange(len(records)) % 3}
    with parallel_config("threading"):
        games = [
            membership_game(*PLAYERS[name], records, n_jobs=n_jobs, **settings)
            for n_jobs in (None, 2)
        ]
    assert_same_game(*games)
    assert np.ptp(games[0]["vulnerability"]) > 0


@pytest.mark.filterwarnings("ignore:.*Stochastic Optimizer")
def test_perceptrons_trained_together_play_the_game_of_perceptrons_trained_alone(monkeypatch):
    records = boundary_problem()
    together = membership_game(*PLAYERS["perceptron"], records, n_rounds=2, random_state=0)
    training.train_one_by_one(monkeypatch)
    alone = membership_game(*PLAYERS["perceptron"], records, n_rounds=2, random_state=0)
    assert_same_game(together, alone)


@pytest.mark.slow  # perceptrons trained together play it too
def test_skorch_nets_trained_together_play_the_game_of_nets_trained_alone(monkeypatch):
    torch, skorch = pytest.importorskip("torch"), pytest.importorskip("skorch")
    from skorch.toy import make_classifier

    records = boundary_problem()
    records = Records(records.X.astype(np.float32), records.y.astype(np.int64))
    net = skorch.NeuralNetClassifier(
        make_classifier(input_units=5, hidden_units=6, num_hidden=1, dropout=0.0),
        optimizer=torch.optim.SGD,
        lr=0.1,
        max_epochs=6,
        batch_size=16,
        train_split=None,
        iterator_train__shuffle=True,
        verbose=0,
    )
    game = membership_game(net, shadow_attack(net), records, n_rounds=2, random_state=0)
    training.train_one_by_one(monkeypatch)
    attack = shadow_attack(net, batched=False)
    alone = membership_game(net, attack, records, n_rounds=2, random_state=0)
    # A record at the boundary of the two classes may fall on either side of it.
    assert_same_game(game, alone, rtol=2 / 96)


def test_players_start_no_workers_where_rounds_are_played_in_parallel():
    class Jobs(Rememberer):
        def __init__(self, share=0.5, random_state=None, n_jobs=None):
            super().__init__(share, random_state)
            self.n_jobs = n_jobs

    class Judge(Recorder):
        def __init__(self, victim=None, n_jobs=None):
            super().__init__(victim)
            self.n_jobs = n_jobs

    given = Jobs(n_jobs=3), Judge(n_jobs=3), make_population(60)
    for n_jobs, expected in ((None, 3), (2, 1)):
        with parallel_config("threading"):
            game = membership_game(*given, n_rounds=2, n_jobs=n_jobs, return_estimator=True)
        players = [*game["estimator"], *game["attack"]]
        assert [one.n_jobs for one in players] == [expected] * 4
    assert given[0].n_jobs == given[1].n_jobs == 3


def test_the_first_rounds_are_the_same_for_every_number_of_rounds():
    records = make_population()
    few, many = (
        membership_game(Rememberer(), RIGHT, records, n_rounds=n, random_state=1) for n in (3, 8)
    )
    np.testing.assert_array_equal(few["vulnerability"], many["vulnerability"][:3])
    other = membership_game(Rememberer(), RIGHT, records, n_rounds=3, random_state=2)
    assert (few["vulnerability"] != other["vulnerability"]).any()


def test_victims_and_attacks_have_seeds_of_their_own():
    game = membership_game(
        RandomForestClassifier(2, random_state=0),
        shadow_attack(RandomForestClassifier(2)),
        boundary_problem(),
        n_rounds=3,
        return_estimator=True,
    )
    assert len({one.random_state for one in game["estimator"]}) == 3
    assert len({one.random_state for one in game["attack"]}) == 3
    assert len({one.shadows.random_state for one in game["attack"]}) == 3


def test_arrays_and_tables_serve_as_records_do():
    records = boundary_problem()
    tree = DecisionTreeClassifier(random_state=0)
    expected = membership_game(tree, RIGHT, records, n_rounds=2, random_state=0)
    for X in (records.X, records.X.tolist(), pd.DataFrame(records.X).add_prefix("x")):
        if isinstance(X, list):
            X = np.array(X)
        game = membership_game(tree, RIGHT, X, records.y, n_rounds=2, random_state=0)
        assert_same_game(game, expected)


def test_what_is_given_is_not_changed():
    records, model = boundary_problem(), DecisionTreeClassifier(random_state=5)
    attack = shadow_attack(model)
    state = np.random.get_state()[1].tolist()  # noqa: NPY002
    membership_game(model, attack, records, n_rounds=2, random_state=0)
    assert np.random.get_state()[1].tolist() == state  # noqa: NPY002
    assert vars(model) == vars(DecisionTreeClassifier(random_state=5))
    assert attack.victim is None and not hasattr(attack, "pool_")
    assert not hasattr(attack.shadows, "membership_")


def test_a_frozen_pool_is_left_alone():
    records, tree = boundary_problem(), DecisionTreeClassifier()
    pool = FrozenEstimator(ShadowPool(tree, 16, random_state=0).fit(records))
    game = membership_game(
        tree, LiRA(shadows=pool), records, n_rounds=4, return_estimator=True, random_state=0
    )
    assert all(attack.pool_ is pool.estimator for attack in game["attack"])
    assert game["vulnerability"].mean() > 0.2


def test_a_pool_is_fitted_on_the_reference_records():
    game = membership_game(
        DecisionTreeClassifier(),
        LiRA(shadows=ShadowPool(DecisionTreeClassifier(), 4, store="models"), online=False),
        boundary_problem(),
        n_rounds=2,
        return_estimator=True,
    )
    assert [attack.pool_.n_records_ for attack in game["attack"]] == [48, 48]


def test_a_number_of_models_makes_a_pool_that_scores_records_it_does_not_hold():
    for attack in (LiRA(shadows=4, online=False), RMIA(shadows=4, online=False)):
        game = membership_game(
            DecisionTreeClassifier(),
            attack,
            boundary_problem(),
            n_rounds=2,
            random_state=0,
            return_estimator=True,
        )
        assert [attack.pool_.n_records_ for attack in game["attack"]] == [48, 48]
        assert game["n_unjudged"].tolist() == [0, 0]
        assert game["tpr"].mean() > game["fpr"].mean() + 0.2


def test_a_regressor_has_a_coefficient_of_determination_and_no_worst_case():
    records, _ = make_membership_problem(
        200, n_features=60, kind="regression", memorization=0.5, random_state=0
    )
    game = membership_game(LinearRegression(), ThresholdAttack(), records, n_rounds=4)
    assert (game["train_score"] > game["test_score"] + 0.2).all()
    assert np.isnan(game["worst_case"]).all()
    assert game["vulnerability"].mean() > 0.1


def test_a_regressor_without_batches_is_trained_by_itself():
    class Mean(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            self.mean_ = y.mean()
            return self

        def predict(self, X):
            return np.full(len(X), self.mean_)

    records, _ = make_membership_problem(100, kind="regression", random_state=0)
    game = membership_game(Mean(), ThresholdAttack(), records, n_rounds=3)
    np.testing.assert_allclose(game["train_score"], 0, atol=1e-12)


def test_what_the_victims_warn_of_is_said_once():
    with pytest.warns(ConvergenceWarning) as caught:
        membership_game(MLP, RIGHT, boundary_problem(), n_rounds=3, random_state=0)
    messages = [str(one.message) for one in caught]
    assert len(messages) == 1 and messages[0].startswith("3 of 3 victims: Stochastic Optimizer")
    assert caught[0].filename == __file__


def test_a_bar_shows_the_rounds(capsys, monkeypatch):
    monkeypatch.setattr("skmia._core.progress.draws_bars", lambda file=None: True)
    membership_game(Rememberer(), RIGHT, make_population(), n_rounds=2, verbose=1)
    assert "rounds" in capsys.readouterr().err


def test_times_are_those_of_a_round():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = perf_counter()
        game = membership_game(*PLAYERS["perceptron"], boundary_problem(), n_rounds=3)
        whole = perf_counter() - start
    assert game["fit_time"].shape == game["attack_time"].shape == (3,)
    assert (game["fit_time"] > 0).all() and (game["attack_time"] > 0).all()
    assert game["fit_time"].sum() + game["attack_time"].sum() < whole


class NoVictim(BaseEstimator):
    def fit(self, records):
        return self

    def predict(self, records):
        return np.ones(len(records))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"attack": NoVictim()}, TypeError, "parameter victim; NoVictim has no such parameter"),
        ({"attack": "lira"}, ValueError, "'attack' parameter of membership_game must be an object"),
        ({"estimator": None}, ValueError, "'estimator' parameter of membership_game"),
        ({"train_size": 0.6}, ValueError, "disjoint and hold at most all 300 .* train_size=0.6"),
        ({"test_size": 0.001}, ValueError, "test_size leaves no record on that side; there are"),
        ({"train_size": 0}, ValueError, "'train_size' parameter of membership_game"),
        ({"n_rounds": 0}, ValueError, "'n_rounds' parameter of membership_game"),
        (
            {"groups": "race"},
            ValueError,
            "groups='race' is not a field of the records, .* the fields are group",
        ),
        ({"groups": [1, 2]}, ValueError, r"one value for each of 300 records; got shape \(2,\)"),
        (
            {"groups": np.where(np.arange(300) == 4, np.nan, 1.0)},
            ValueError,
            "groups has no value for 1 of 300 records, first at position 4",
        ),
        ({"y": np.zeros(300)}, ValueError, "records, which carry their labels; leave y out"),
        ({"X": Records(np.zeros((300, 3)))}, ValueError, "records carry no task labels"),
    ],
)
def test_what_cannot_be_played_is_refused(changes, error, message):
    arguments = {"estimator": Rememberer(), "attack": RIGHT, "X": make_population(), **changes}
    with pytest.raises(error, match=message):
        membership_game(**arguments)


@pytest.mark.parametrize("n_records", [45, 75])
def test_a_person_of_many_records_makes_no_side_smaller(n_records):
    records = make_population(group_by=np.maximum(np.arange(300), n_records))
    settings = {"n_rounds": 12, "return_estimator": True, "random_state": 0}
    game = membership_game(Rememberer(), Recorder(), records, **settings)
    for i in range(12):
        assert [len(side) for side in sides_of(game, i)[1:]] == [120, 120, 60]


def test_few_people_with_many_records_cannot_fill_three_sides():
    records = make_population(group_by=np.arange(300) // 150)
    with pytest.raises(ValueError, match="leaves no record .* in 2 indivisible groups"):
        membership_game(Rememberer(), RIGHT, records, n_rounds=1)


def test_records_that_the_attack_cannot_judge_are_left_out_and_counted():
    records = make_population()
    settings = {"n_rounds": 2, "random_state": 0, "return_guesses": True}
    whole = membership_game(Rememberer(), RIGHT, records, **settings)
    part = membership_game(Rememberer(), Undecided(signal="correctness"), records, **settings)
    judged = (np.arange(300) % 3 > 0) & (whole["membership"] >= 0)
    for k in range(2):
        members, guesses = whole["membership"][k][judged[k]], whole["guesses"][k][judged[k]]
        assert part["tpr"][k] == pytest.approx(guesses[members == 1].mean())
        assert part["fpr"][k] == pytest.approx(guesses[members == 0].mean())
        assert part["n_unjudged"][k] == (whole["membership"][k] >= 0).sum() - judged[k].sum()
        assert (part["guesses"][k][~judged[k]] == -1).all()


def test_a_class_that_a_training_side_lacks_has_probability_0():
    records, _ = make_membership_problem(60, random_state=0)
    records = Records(records.X, np.where(np.arange(60) < 2, 7, records.y))
    settings = {"n_rounds": 4, "random_state": 0, "return_guesses": True}
    tree = DecisionTreeClassifier(random_state=0)
    game = membership_game(tree, RIGHT, records, **settings)
    rare = game["membership"][:, :2]
    assert ((rare != 1).all(axis=1) & (rare == 0).any(axis=1)).any()
    gaps = game["train_score"] - game["test_score"]
    np.testing.assert_allclose(game["vulnerability"], gaps)
    # Also if a reference record alone has it.
    alone = (game["membership"] == -1).any(axis=0).argmax()
    y = np.where(np.arange(60) == alone, 8, records.y)
    game = membership_game(tree, RIGHT, Records(records.X, y), **settings)
    assert (game["membership"][:, alone] == -1).any()
    pool = ShadowPool(tree, 4, store="models")  # of reference records, which may lack it as well
    rmia = membership_game(tree, RMIA(shadows=pool, online=False), records, **settings)
    np.testing.assert_array_equal(rmia["membership"], game["membership"])
    assert (rmia["guesses"][:, :2][rare == 0] == 0).all()
