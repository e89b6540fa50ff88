import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool
from skmia.attacks import LiRA, ThresholdAttack
from skmia.datasets import make_membership_problem
from skmia.disparity import DisparityDisplay, DisparityTest, GroupGuesses
from skmia.disparity._test import describe_groups, estimate_epsilon
from skmia.games import membership_game
from skmia.model_selection import leave_one_model_out


def make_table(n_rounds=12, n_groups=4, seed=0):
    """Groups that differ in mean and in spread, rounds that differ in level."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_rounds, n_groups)) * np.arange(1, n_groups + 1)
    values += rng.normal(size=(n_rounds, 1)) + [1, *[0] * (n_groups - 1)]
    return pd.DataFrame(values, columns=[f"g{i}" for i in range(n_groups)])


# The analysis of variance


def analyse_by_hand(values):
    n_rounds, n_groups = values.shape
    grand = values.mean()
    between = sum(n_rounds * (values[:, z].mean() - grand) ** 2 for z in range(n_groups))
    rounds = sum(n_groups * (values[i].mean() - grand) ** 2 for i in range(n_rounds))
    residual = ((values - grand) ** 2).sum() - between - rounds
    df = n_groups - 1, (n_rounds - 1) * (n_groups - 1)
    statistic = between / df[0] / (residual / df[1])
    centering = np.eye(n_groups) - 1 / n_groups
    double = centering @ np.cov(values.T) @ centering
    epsilon = np.trace(double) ** 2 / ((n_groups - 1) * np.linalg.norm(double) ** 2)
    return (between, rounds, residual), df, statistic, epsilon


@pytest.mark.parametrize("shape", [(2, 2), (2, 5), (12, 4), (40, 3)])
def test_analysis_of_variance_by_hand(shape):
    table = make_table(*shape)
    sums, df, statistic, epsilon = analyse_by_hand(table.to_numpy())
    test = DisparityTest.from_table(table)
    np.testing.assert_allclose(test.anova_["sum_of_squares"], sums)
    assert test.anova_["df"].tolist() == [df[0], shape[0] - 1, df[1]]
    assert test.anova_statistic_ == pytest.approx(statistic)
    assert test.anova_pvalue_ == pytest.approx(stats.f.sf(statistic, *df))
    assert test.epsilon_ == pytest.approx(epsilon)
    corrected = stats.f.sf(statistic, epsilon * df[0], epsilon * df[1])
    assert test.anova_pvalue_corrected_ == pytest.approx(corrected)
    assert test.anova_.loc["groups", ["F", "pvalue", "pvalue_corrected"]].tolist() == [
        test.anova_statistic_,
        test.anova_pvalue_,
        test.anova_pvalue_corrected_,
    ]
    assert test.partial_eta_squared_ == pytest.approx(sums[0] / (sums[0] + sums[2]))
    assert test.generalized_eta_squared_ == pytest.approx(sums[0] / sum(sums))


def test_two_groups_are_a_dependent_t_test():
    table = make_table(15, 2)
    test = DisparityTest.from_table(table)
    t, p = stats.ttest_rel(table["g0"], table["g1"])
    assert test.anova_statistic_ == pytest.approx(t**2)
    assert test.anova_pvalue_ == pytest.approx(p)
    assert test.epsilon_ == pytest.approx(1)
    assert test.anova_pvalue_corrected_ == pytest.approx(p)
    (row,) = test.pairwise_.itertuples(index=False)
    assert (row.t_statistic, row.t_pvalue, row.t_pvalue_adjusted) == pytest.approx((t, p, p))


def make_rounds_of_covariance(covariance, n_rounds=30):
    noise = np.random.default_rng(1).normal(size=(n_rounds, len(covariance)))
    noise -= noise.mean(axis=0)
    noise = noise @ np.linalg.inv(np.linalg.cholesky(np.cov(noise.T))).T
    return noise @ np.linalg.cholesky(covariance).T


def test_epsilon_lies_between_its_limits():
    equal = 0.3 * np.ones((4, 4)) + 0.7 * np.eye(4)
    assert estimate_epsilon(make_rounds_of_covariance(equal)) == pytest.approx(1)
    # One group varies, the others follow the rounds: all differences are one difference.
    values = np.random.default_rng(2).normal(size=(30, 1)) * [0, 0, 0, 1.0]
    assert estimate_epsilon(values) == pytest.approx(1 / 3)
    # By hand: H diag(1, 4, 9) H has trace 28 / 3 and squares 490 / 9 in all.
    assert estimate_epsilon(make_rounds_of_covariance(np.diag([1.0, 4, 9]))) == pytest.approx(
        (28 / 3) ** 2 / (2 * 490 / 9)
    )


def test_correction_keeps_the_level_where_small_groups_vary_more():
    rng = np.random.default_rng(3)
    n_runs, found = 500, np.zeros(2)
    for _ in range(n_runs):
        values = rng.normal(size=(10, 4)) * [1, 1, 1, 12]
        _, df, statistic, _ = analyse_by_hand(values)
        for place, epsilon in enumerate((1.0, estimate_epsilon(values))):
            found[place] += stats.f.sf(statistic, epsilon * df[0], epsilon * df[1]) <= 0.05
    # Three standard errors of 500 runs at 5% are 2.9%.
    assert found[1] / n_runs <= 0.05 + 0.029
    assert found[0] / n_runs > 0.05 + 0.029


# Pairs and groups


def test_pairs_by_hand():
    table = make_table()
    pairs = DisparityTest.from_table(table, correction="bonferroni", confidence_level=0.9).pairwise_
    assert len(pairs) == 6
    for row in pairs.itertuples():
        difference = table[row.group] - table[row.other]
        known = stats.ttest_rel(table[row.group], table[row.other])
        assert row.t_statistic == pytest.approx(known.statistic)
        assert row.t_pvalue == pytest.approx(known.pvalue)
        assert (row.low, row.high) == pytest.approx(tuple(known.confidence_interval(0.9)))
        assert row.difference == pytest.approx(difference.mean())
        assert row.effect_size == pytest.approx(difference.mean() / difference.std())
        assert row.t_pvalue_adjusted == pytest.approx(min(1, 6 * known.pvalue))


def test_holm_by_hand():
    pairs = DisparityTest.from_table(make_table()).pairwise_.sort_values("t_pvalue")
    steps = np.minimum(1, (6 - np.arange(6)) * pairs["t_pvalue"])
    np.testing.assert_allclose(pairs["t_pvalue_adjusted"], np.maximum.accumulate(steps))


def test_a_pair_does_not_depend_on_the_order_of_the_groups():
    table = make_table()
    forwards = DisparityTest.from_table(table)
    backwards = DisparityTest.from_table(table[table.columns[::-1]])
    assert backwards.anova_statistic_ == pytest.approx(forwards.anova_statistic_)
    assert backwards.epsilon_ == pytest.approx(forwards.epsilon_)
    first, last = forwards.pairwise_.iloc[0], backwards.pairwise_.iloc[-1]
    assert (first["group"], first["other"]) == (last["other"], last["group"])
    assert first["t_statistic"] == pytest.approx(-last["t_statistic"])
    assert first["t_pvalue_adjusted"] == pytest.approx(last["t_pvalue_adjusted"])


def test_means_and_disparity():
    table = make_table()
    test = DisparityTest.from_table(table)
    groups = test.group_vulnerability_
    np.testing.assert_allclose(groups["mean"], table.mean())
    np.testing.assert_allclose(groups["standard_error"], stats.sem(table))
    low, high = stats.t.interval(0.95, 11, loc=table.mean(), scale=stats.sem(table))
    np.testing.assert_allclose(groups[["low", "high"]], np.transpose([low, high]))
    assert test.disparity_ == test.score() == groups["mean"].max() - groups["mean"].min()


def test_intervals_of_groups_cover_their_mean():
    # 500 repetitions of one group each, side by side.
    table = pd.DataFrame(np.random.default_rng(4).normal(0.1, 0.05, size=(10, 500)))
    groups = describe_groups(table, 0.95)
    held = ((groups["low"] <= 0.1) & (groups["high"] >= 0.1)).mean()
    assert 0.93 <= held <= 0.97


# Edges


def test_no_residual_is_certainty():
    table = np.array([0.1, 0.2, 0.4])[:, None] + [0.0, 0.3, 0.5]
    test = DisparityTest.from_table(table)
    assert test.anova_statistic_ == np.inf
    assert test.anova_pvalue_ == test.anova_pvalue_corrected_ == 0
    assert np.isnan(test.epsilon_)
    assert test.partial_eta_squared_ == 1
    assert (test.pairwise_["t_statistic"] == -np.inf).all()
    assert (test.pairwise_["t_pvalue"] == 0).all()
    np.testing.assert_allclose(test.pairwise_["low"], test.pairwise_["high"])


def test_equal_groups_tell_nothing():
    test = DisparityTest.from_table(np.array([0.1, 0.2, 0.4])[:, None] + np.zeros(3))
    found = [test.anova_statistic_, test.anova_pvalue_, test.anova_pvalue_corrected_]
    assert np.isnan(found).all()
    columns = ["t_statistic", "t_pvalue", "t_pvalue_adjusted"]
    assert np.isnan(test.pairwise_[columns].to_numpy()).all()
    assert test.disparity_ == 0
    assert "nan" in test.summary()


def test_a_pair_that_is_always_equal_counts_as_no_evidence():
    table = make_table(12, 2)
    table["copy"] = table["g0"]
    pairs = DisparityTest.from_table(table, correction="bonferroni").pairwise_.set_index(
        ["group", "other"]
    )
    assert np.isnan(pairs.loc[("g0", "copy"), "t_pvalue_adjusted"])
    row = pairs.loc[("g0", "g1")]
    assert row["t_pvalue_adjusted"] == pytest.approx(min(1, 3 * row["t_pvalue"]))


def test_incomplete_rounds_are_left_out():
    table = make_table()
    holes = table.copy()
    holes.iloc[2, 1] = holes.iloc[7, 3] = np.nan
    with pytest.warns(UserWarning, match="2 of 12 rounds were left out") as caught:
        test = DisparityTest.from_table(holes)
    assert caught[0].filename == __file__
    known = DisparityTest.from_table(table.drop(index=[2, 7]))
    assert (test.n_rounds_, test.n_dropped_) == (10, 2)
    assert test.vulnerabilities_.index.tolist() == [0, 1, 3, 4, 5, 6, 8, 9, 10, 11]
    assert test.anova_statistic_ == known.anova_statistic_
    assert "10 rounds (incomplete and left out: 2)" in test.summary()
    assert known.n_dropped_ == 0
    with pytest.warns(UserWarning, match="1 of 12 rounds was left out"):
        DisparityTest.from_table(holes.fillna({"g1": 0.0}))


@pytest.mark.parametrize("n_complete", [0, 1])
def test_without_complete_rounds_the_records_are_permuted_all_the_same(n_complete):
    rng = np.random.default_rng(0)
    guesses, membership = rng.integers(2, size=(2, 12, 63))
    groups = np.repeat(["a", "b"], [60, 3])
    membership[:, 60:] = (np.arange(12) % 2)[:, None]  # all of b on one side
    membership[:n_complete, 60] = 1 - membership[:n_complete, 60]
    told = f"{12 - n_complete} of 12 rounds were left out of the analysis of variance and the t-te"
    with pytest.warns(UserWarning, match=told):
        test = DisparityTest(random_state=0).fit(GroupGuesses(guesses, membership, groups))
    assert (test.n_rounds_, len(test.vulnerabilities_)) == (n_complete, n_complete)
    assert 0 < test.pvalue_ < 1 and test.disparity_ > 0
    known = "difference low high pvalue pvalue_adjusted reject".split()
    assert test.pairwise_[known].notna().all(axis=None)
    unknown = "t_statistic t_pvalue t_pvalue_adjusted effect_size".split()
    assert test.pairwise_[unknown].isna().all(axis=None)
    assert np.isnan([test.anova_statistic_, test.anova_pvalue_, test.epsilon_]).all()
    assert test.group_vulnerability_["std"].isna().all()
    means = test.group_vulnerability_.drop(columns="std")
    assert means.notna().all(axis=None) and test.predict(["a"]) == means["mean"]["a"]
    assert f"(complete rounds: {n_complete})" in test.summary()
    with pytest.raises(ValueError, match="At least 2 rounds need a value of every group"):
        DisparityDisplay.from_estimator(test)


@pytest.mark.parametrize(
    "parameters, table, message",
    [
        ({}, [1.0, 2.0], "a row for each round and a column for each group; got .* shape \\(2,\\)"),
        ({}, [[1.0], [2.0]], "at least 2 groups to compare; got 1"),
        ({}, [[1.0, 2.0]], "At least 2 rounds need a value of every group; 1 of 1 have one\\."),
        ({}, [[1.0, np.nan], [2, np.nan]], "0 of 2 have one; group 1 lacks 2"),
        ({}, [[1.0, np.inf], [2, 3]], "finite numbers, or NaN for missing ones; got inf"),
        ({}, [["low", 1.0], ["high", 2.0]], "The table must hold numbers"),
        ({}, pd.DataFrame([[1.0, 2], [3, 5]], columns=["a", "a"]), "'a' has several"),
        ({"correction": "bh"}, [[1.0, 2], [3, 5]], "The 'correction' parameter"),
        ({"confidence_level": 1.0}, [[1.0, 2], [3, 5]], "The 'confidence_level' parameter"),
    ],
)
def test_bad_tables_are_named(parameters, table, message):
    with pytest.raises(ValueError, match=message):
        DisparityTest.from_table(table, **parameters)


# An estimator like any other


def test_every_correction_can_be_had():
    table = make_table()
    for correction in sorted(DisparityTest._parameter_constraints["correction"][0].options):
        pairs = DisparityTest.from_table(table, correction=correction).pairwise_
        assert (pairs["t_pvalue_adjusted"] >= pairs["t_pvalue"] * (1 - 1e-12)).all() or (
            "tsb" in correction  # these estimate how many hypotheses are true
        )


def test_constructor_only_assigns_and_input_is_kept():
    table = make_table()
    before = table.copy()
    test = DisparityTest(correction="fdr_by", confidence_level=0.8)
    params = test.get_params()
    assert vars(test) == params
    test = DisparityTest.from_table(table, correction="fdr_by", confidence_level=0.8)
    pd.testing.assert_frame_equal(table, before)
    assert test.get_params() == params
    again = pickle.loads(pickle.dumps(test))
    pd.testing.assert_frame_equal(again.pairwise_, test.pairwise_)
    assert clone(test).get_params() == params


def test_prediction_is_the_mean_of_the_group():
    table = make_table()
    test = DisparityTest.from_table(table)
    expected = table.mean()[["g2", "g0", "g2"]]
    np.testing.assert_allclose(test.predict(["g2", "g0", "g2"]), expected)
    assert test.score(["g2", "g0"]) == pytest.approx(np.ptp(expected))
    assert test.score(["g2", "g2"]) == 0
    with pytest.raises(ValueError, match="X has no records, so no groups to compare"):
        test.score([])
    with pytest.raises(ValueError, match="Group 'g9' did not occur in fit; its groups are g0, g1"):
        test.predict(["g0", "g9"])
    with pytest.raises(ValueError, match="group='group' is not a field of the records, nor a col"):
        test.predict([["g0", "g1"]])
    with pytest.raises(ValueError, match=r"one group for each; got an array of shape \(\)\."):
        test.predict("g0")


def test_columns_of_an_array_are_numbered():
    test = DisparityTest.from_table(make_table().to_numpy())
    assert test.vulnerabilities_.columns.tolist() == [0, 1, 2, 3]
    assert len(test.predict([3, 3, 0])) == 3


@pytest.mark.parametrize("library", ["polars", "pyarrow", "lazy"])
def test_groups_are_named_by_the_columns_of_any_table(library):
    table = make_table()

    def make(table):
        if library == "pyarrow":
            return pytest.importorskip("pyarrow").Table.from_pandas(table)
        made = pytest.importorskip("polars").from_pandas(table)
        return made.lazy() if library == "lazy" else made

    test = DisparityTest.from_table(make(table))
    asked = pd.DataFrame({"group": ["g2", "g0"]})
    np.testing.assert_array_equal(test.predict(make(asked)), table.mean()[["g2", "g0"]])
    np.testing.assert_array_equal(test.predict(["g2"]), table.mean()[["g2"]])
    display = DisparityDisplay.from_table(make(table))
    assert list(display.bodies_) == list(table)


@pytest.mark.parametrize("name", ["membership", "groups", "people"])
def test_guesses_and_what_belongs_to_them_name_the_records_in_one_order(name):
    rng = np.random.default_rng(0)
    ids = [f"id{i}" for i in range(30)]
    membership, guesses = (pd.DataFrame(rng.integers(2, size=(6, 30)), columns=ids) for _ in "ab")
    groups, people = (pd.Series(rng.integers(2, size=30), index=ids) for _ in "ab")
    given = GroupGuesses(guesses, membership, groups, people)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DisparityTest(random_state=0, n_permutations=9).fit(given)
    turned = {"membership": membership[ids[::-1]]}.get(name, getattr(given, name)[::-1])
    with pytest.warns(UserWarning, match=f"^{name} has the columns of guesses in another order"):
        DisparityTest(random_state=0, n_permutations=9).fit(given._replace(**{name: turned}))


def test_fit_comes_first():
    for ask in (lambda t: t.predict(["a"]), lambda t: t.score(), lambda t: t.summary()):
        with pytest.raises(NotFittedError):
            ask(DisparityTest())


def test_summary_holds_the_numbers():
    test = DisparityTest.from_table(make_table())
    text = test.summary()
    assert "4 groups, 12 rounds\n" in text
    assert f"F(3, 33) = {test.anova_statistic_:.6g}, p = {test.anova_pvalue_:.2g}\n" in text
    assert f"p = {test.anova_pvalue_corrected_:.2g} (Greenhouse" in text
    assert f"epsilon = {test.epsilon_:.3f}" in text
    assert "adjusted by Holm" in text
    assert "permutation test      not possible: a table has no records to permute" in text
    assert max(map(len, text.splitlines())) <= 100


# The game


@pytest.fixture(scope="module")
def population():
    records, _ = make_membership_problem(400, random_state=0)
    return records.with_fields(race=np.where(records.X[:, 0] > 0.5, "high", "low"))


def make_test(**parameters):
    attack = ThresholdAttack(signal="correctness")
    settings = {"estimator": DecisionTreeClassifier(), "attack": attack, "group": "race"}
    settings |= {"n_rounds": 6, "n_permutations": 99, "random_state": 0}
    return DisparityTest(**(settings | parameters))


def test_records_are_played_for(population):
    test = make_test(train_size=0.3).fit(population)
    game = membership_game(
        test.estimator,
        test.attack,
        population,
        groups="race",
        n_rounds=6,
        train_size=0.3,
        random_state=0,
    )
    pd.testing.assert_frame_equal(test.vulnerabilities_, game["group_vulnerability"])
    np.testing.assert_array_equal(test.game_["vulnerability"], game["vulnerability"])
    by_table = DisparityTest.from_table(game["group_vulnerability"])
    assert by_table.game_ is None
    assert by_table.anova_statistic_ == test.anova_statistic_
    assert np.isnan(by_table.pvalue_) and not by_table.reject_
    assert test.vulnerabilities_.to_numpy().min() > 0
    again = make_test(train_size=0.3).fit(population)
    pd.testing.assert_frame_equal(again.vulnerabilities_, test.vulnerabilities_)
    means = test.group_vulnerability_["mean"]
    np.testing.assert_array_equal(test.predict(population), means[population["race"]])
    assert test.score(population[population["race"] == "low"]) == 0


def test_the_analysis_of_variance_alone_rejects_nothing():
    table = {"a": [0.1, 0.2, 0.3, 0.2], "b": [0.3, 0.3, 0.5, 0.5]}
    test = DisparityTest.from_table(pd.DataFrame(table))
    assert test.anova_pvalue_corrected_ < 0.02
    assert np.isnan(test.pvalue_) and not test.reject_


def test_noisy_labels_of_one_group_are_found():
    # A tree learns noise by heart, and is wrong about the noise of non-members.
    records, _ = make_membership_problem(memorization=0.0, random_state=0)
    noisy = np.arange(len(records)) % 2 == 1
    y = np.where(noisy, np.random.default_rng(0).permutation(records.y), records.y)
    records = Records(records.X, y, race=np.where(noisy, "noisy", "clean"))
    test = make_test(n_permutations=999).fit(records)
    assert test.group_vulnerability_["mean"].idxmax() == "noisy"
    assert test.pvalue_ < 0.01 and test.reject_


def test_rare_groups_lose_rounds(population):
    race = population["race"].astype("U8")
    race[:3] = "rare"
    with pytest.warns(UserWarning, match="rounds were left out"):
        test = make_test(n_rounds=12).fit(population.with_fields(race=race))
    assert 2 <= test.n_rounds_ < 12
    assert test.n_rounds_ + test.n_dropped_ == 12
    lines = test.summary().splitlines()
    assert lines[0] == "Disparity of vulnerability: 3 groups, 12 rounds"
    assert lines[3].endswith(f" (complete rounds: {test.n_rounds_})")


@pytest.mark.parametrize(
    "parameters, message",
    [
        (
            {"group": "age"},
            "group='age' is not a field .*: the fields are race, the columns 0 to 19",
        ),
        ({"attack": None}, "attack is needed to play the game on records"),
        ({"estimator": None}, "estimator is needed to play the game on records"),
    ],
)
def test_what_the_game_lacks_is_named(population, parameters, message):
    with pytest.raises(ValueError, match=message):
        make_test().set_params(**parameters).fit(population)


@pytest.mark.parametrize("missing", [None, np.nan])
def test_records_without_a_group_are_refused(population, missing):
    race = population["race"].astype(object)
    race[3:5] = missing
    without = population.with_fields(race=race)
    pool = FrozenEstimator(ShadowPool(DecisionTreeClassifier(), 4, random_state=0).fit(population))
    for changes in ({}, {"estimator": None, "attack": LiRA(shadows=pool)}):
        words = "^group has no value for 2 of 400 records, first at position 3. .* with one name"
        with pytest.raises(ValueError, match=words):
            make_test().set_params(**changes).fit(without)


def test_numbers_of_which_hardly_two_are_equal_are_no_groups(population):
    numbers = population.with_fields(race=np.arange(400) / 7)
    with pytest.raises(ValueError, match="group has 400 different values for 400 .*pandas.qcut"):
        make_test().fit(numbers)


def test_models_of_a_pool_are_treated_as_the_victim(population):
    pool = ShadowPool(DecisionTreeClassifier(), 8, random_state=0).fit(population)
    attack = LiRA(shadows=FrozenEstimator(pool))
    test = DisparityTest(attack=attack, group="race", random_state=0).fit(population)
    assert test.game_ is None and test.n_rounds_ == 4
    power = leave_one_model_out(attack, population, models=range(0, 8, 2), group="race")
    expected = power["advantage"].unstack("group")
    np.testing.assert_allclose(test.vulnerabilities_, expected[["high", "low"]])
    assert 0 < test.pvalue_ <= 1
    fewer = DisparityTest(attack=attack, group="race", n_rounds=3, random_state=0).fit(population)
    np.testing.assert_allclose(fewer.vulnerabilities_, test.vulnerabilities_[:3])
    pool = ShadowPool(DecisionTreeClassifier(), 5, design="independent", random_state=0).fit(
        population
    )
    alone = test.set_params(attack=LiRA(shadows=FrozenEstimator(pool)))
    assert alone.fit(population).n_rounds_ == 5


def test_predict_names_the_missing_field(population):
    test = DisparityTest.from_table(make_table())
    with pytest.raises(ValueError, match="group='group' is not a field of the records"):
        test.predict(population)


# Features and labels, as any estimator takes them


@pytest.fixture(scope="module")
def frame(population):
    columns = [f"x{k}" for k in range(population.X.shape[1])]
    return pd.DataFrame(population.X, columns=columns).assign(race=population["race"])


def drop_race(frame):
    return frame.drop(columns="race")


TREE_OF_FRAME = make_pipeline(FunctionTransformer(drop_race), DecisionTreeClassifier())


def test_features_and_labels_are_played_for(population, frame):
    test = make_test(estimator=TREE_OF_FRAME).fit(frame, population.y)
    game = membership_game(
        TREE_OF_FRAME,
        test.attack,
        frame,
        population.y,
        groups="race",
        n_rounds=6,
        random_state=0,
    )
    pd.testing.assert_frame_equal(test.vulnerabilities_, game["group_vulnerability"])
    assert test.vulnerabilities_.columns.tolist() == ["high", "low"]
    means = test.group_vulnerability_["mean"]
    np.testing.assert_array_equal(test.predict(frame), means[frame["race"]])
    assert test.score(frame, population.y) == test.disparity_ == test.score()
    assert test.score(frame[frame["race"] == "low"]) == 0


def test_groups_are_a_field_a_column_or_an_array(population, frame):
    race, estimator = population["race"], DecisionTreeClassifier()
    known = make_test(n_rounds=2).fit(population)
    numbered = np.column_stack([population.X, race == "low"])
    column = numbered.shape[1] - 1
    for settings, X, y in (
        ({"group": race}, population, None),
        ({"group": list(race)}, population.X, population.y),
        ({"group": pd.Series(race)}, population.X, population.y),
    ):
        test = make_test(n_rounds=2, **settings).fit(X, y)
        pd.testing.assert_frame_equal(test.vulnerabilities_, known.vulnerabilities_)
        assert test.pvalue_ == known.pvalue_
    game = {"n_rounds": 2, "n_permutations": 99, "random_state": 0}
    by_number = DisparityTest(estimator, known.attack, group=column, **game)
    by_name = DisparityTest(estimator, known.attack, group="last", **game)
    table = pd.DataFrame(numbered).rename(columns={column: "last"}).rename(columns=str)
    by_number.fit(numbered, population.y)
    by_name.fit(table, population.y)
    assert by_number.vulnerabilities_.columns.tolist() == [0.0, 1.0]
    pd.testing.assert_frame_equal(by_number.vulnerabilities_, by_name.vulnerabilities_)
    np.testing.assert_array_equal(by_number.predict(numbered), by_name.predict(table))
    by_number.fit(sparse.csr_array(numbered), population.y)
    pd.testing.assert_frame_equal(by_number.vulnerabilities_, by_name.vulnerabilities_)
    carried = make_test(estimator=TREE_OF_FRAME, n_rounds=2).fit(Records(frame, population.y))
    played = make_test(estimator=TREE_OF_FRAME, n_rounds=2).fit(frame, population.y)
    pd.testing.assert_frame_equal(carried.vulnerabilities_, played.vulnerabilities_)


def test_a_search_takes_the_default_score(population, frame):
    signals = ["correctness", "confidence"]
    test = make_test(estimator=TREE_OF_FRAME, n_rounds=2)
    search = GridSearchCV(test, {"attack__signal": signals}, cv=2).fit(frame, population.y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.disparity_ >= 0
    assert 0 <= search.score(frame, population.y) == search.best_estimator_.disparity_


@pytest.mark.parametrize(
    "parameters, fit, message",
    [
        ({}, lambda test, X, y: test.fit(X), "DataFrame without y.*DisparityTest.from_table"),
        ({}, lambda test, X, y: test.fit([[0.1, 0.2], [0.3, 0.1]]), "list without y"),
        ({}, lambda test, X, y: test.fit(Records(X, y), y), "leave y out"),
        ({"group": "sex"}, lambda test, X, y: test.fit(X, y), "group='sex' is not .*columns x0"),
        ({"group": 77}, lambda test, X, y: test.fit(X.to_numpy(), y), "group=77 is not a field"),
        ({"group": ["a", "b"]}, lambda test, X, y: test.fit(X, y), "each of 400 records; got sh"),
        ({"attack": None}, lambda test, X, y: test.fit(X, y), "attack is needed to play the game"),
        ({"n_rounds": 1}, lambda test, X, y: test.fit(X, y), "The 'n_rounds' parameter"),
    ],
)
def test_what_no_game_can_be_played_with_is_named(population, frame, parameters, fit, message):
    test = make_test(estimator=TREE_OF_FRAME).set_params(**parameters)
    with pytest.raises(ValueError, match=message):
        fit(test, frame, population.y)


def test_an_array_of_groups_holds_those_of_fit_alone(population):
    test = make_test(group=population["race"]).fit(population)
    assert test.score(["low", "high"]) == test.disparity_
    with pytest.raises(ValueError, match="group holds the groups of the records of fit"):
        test.predict(population)


def test_summary_states_the_level_and_the_correction_of_the_fit():
    test = DisparityTest.from_table(np.random.default_rng(0).random((5, 3)))
    before = test.summary()
    assert test.set_params(confidence_level=0.5, correction="bonferroni").summary() == before
    assert "95%" in before and "Holm" in before
