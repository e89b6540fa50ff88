import numpy as np
import pytest
from cells import slow_but
from scipy import integrate
from scipy.stats import multivariate_normal, norm
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeRegressor

from skmia import Records
from skmia.attacks import ThresholdAttack
from skmia.leakage import GaussianRegressionAttacker, leverage_total_variation
from skmia.leakage._gaussian import _log_likelihood_ratio, _mix
from skmia.leakage.bounds import subexponential_loss_success_bound
from skmia.testing import check_attack, make_attack_problem

# Of the published run with 20 features: rows, success rate in 1,000 games of the attacker who does
# not know the row; and of the one who does, exactly; the largest value of the printed lower bound.
PUBLISHED_RUN = [
    (21, 0.744, 0.880, 0.539659),
    (40, 0.563, 0.655, 0.518003),
    (60, 0.554, 0.612, 0.511102),
    (80, 0.544, 0.592, 0.507915),
    (100, 0.532, 0.580, 0.506102),
    (120, 0.511, 0.571, 0.504940),
    (140, 0.492, 0.565, 0.504135),
]
N_GAMES = 1000

PROBLEM = make_attack_problem(LinearRegression(fit_intercept=False))
TREE = make_attack_problem(DecisionTreeRegressor(max_depth=4, random_state=0))
COEF = [1.0, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, id="simple", marks=pytest.mark.slow),
        pytest.param({"noise_std": 2.0, "proxy": "thesis"}, id="thesis", marks=pytest.mark.slow),
        pytest.param(
            {"knows_index": False, "n_simulations": 20, "random_state": 0}, id="simulated"
        ),
    ],
)
def test_checks_of_attacks(settings):
    attack = GaussianRegressionAttacker(PROBLEM.victim, coef=COEF, **settings)
    check_attack(attack, PROBLEM.records, PROBLEM.membership)


def test_checks_of_attacks_on_another_regressor():
    attack = GaussianRegressionAttacker(TREE.victim, coef=COEF)
    check_attack(attack, TREE.records, TREE.membership)


def play_published_games():
    """The published run: designs, and for each game of a design what the attacker is shown.

    One generator goes through the designs, and each game seeds it again.
    """
    rng, n_features, noise_std = np.random.RandomState(9), 20, 2.0
    coef = rng.uniform(-2, 2, n_features)
    for n_rows, *_ in PUBLISHED_RUN:
        design = rng.normal(0, 2, (n_rows, n_features))
        games = []
        for seed in range(0, 3 * N_GAMES, 3):
            rng.seed(seed)
            is_member, row = rng.randint(2), rng.randint(n_rows)
            y = design @ coef + rng.normal(0, noise_std, n_rows)
            shown = y[row] if is_member else design[row] @ coef + rng.normal(0, noise_std)
            rng.normal(0, noise_std, n_rows)  # a test set, of which the attacker sees nothing
            games.append((is_member, row, shown, y))
        yield design, coef, noise_std, games


@pytest.fixture(scope="module")
def published_run():
    return list(play_published_games())


@pytest.mark.parametrize("k", range(len(PUBLISHED_RUN)))
def test_published_success_rates_come_out_to_the_last_game(published_run, k):
    design, coef, noise_std, games = published_run[k]
    n_rows, published, exact, lower = PUBLISHED_RUN[k]
    records = Records(design, np.zeros(n_rows))
    attack = GaussianRegressionAttacker(noise_std=noise_std, proxy="thesis").fit(records)
    assert attack.success_rate_ == pytest.approx(exact, abs=5e-4)
    assert attack.success_lower_bound_ == pytest.approx(lower, abs=5e-7)
    assert attack.generalization_gap_ == pytest.approx(2 * 20 * 4 / n_rows)

    is_member, _, shown, responses = (np.array(part) for part in zip(*games, strict=True))
    predictions = responses @ np.linalg.pinv(design).T @ design.T
    errors, residuals = shown[:, None] - design @ coef, shown[:, None] - predictions
    ratios = _log_likelihood_ratio(attack.leverage_, errors, residuals, noise_std)
    scores = _mix(ratios, errors, noise_std)
    assert ((scores > 0) == is_member).mean() == published


def test_the_attack_plays_the_published_games(published_run):
    design, coef, noise_std, games = published_run[0]
    attack = GaussianRegressionAttacker(
        coef=coef, noise_std=noise_std, knows_index=False, random_state=0
    ).fit(Records(design, np.zeros(len(design))))
    won = []
    for is_member, row, shown, y in games[:20]:
        model = LinearRegression(fit_intercept=False).fit(design, y)
        attack.set_params(victim=FrozenEstimator(model))
        won.append(attack.predict(Records(design[[row]], [shown]))[0] == is_member)
    assert won == list(play_by_densities(design, coef, noise_std, games[:20]))
    # 1,000 published games, against a simulation with a far smaller error.
    error = np.hypot(attack.success_rate_error_, np.sqrt(0.25 / N_GAMES))
    assert abs(attack.success_rate_ - 0.744) < 3 * error


def play_by_densities(design, coef, noise_std, games):
    """Whether each game is won by adding up the densities of all rows."""
    gram = np.linalg.inv(design.T @ design)
    for is_member, _, shown, y in games:
        theta = gram @ design.T @ y
        outside = multivariate_normal(coef, noise_std**2 * gram, allow_singular=True).pdf(theta)
        evidence = []
        for row in design:
            mean = coef + gram @ row * (shown - row @ coef)
            covariance = noise_std**2 * (gram - np.outer(gram @ row, gram @ row))
            inside = multivariate_normal(mean, covariance, allow_singular=True).pdf(theta)
            evidence.append((inside - outside) * norm.pdf(shown, row @ coef, noise_std))
        yield (sum(evidence) > 0) == is_member


def make_regression(n_rows=40, n_features=20, noise_std=1.5, seed=0):
    rng = np.random.default_rng(seed)
    design, coef = rng.normal(size=(n_rows, n_features)), rng.normal(size=n_features)
    draw = lambda: design @ coef + noise_std * rng.normal(size=n_rows)  # noqa: E731
    return design, coef, noise_std, draw


def test_score_is_the_log_ratio_of_the_two_densities():
    design, coef, noise_std, draw = make_regression(12, 3)
    gram = np.linalg.inv(design.T @ design)
    members, others = Records(design, draw()), Records(design, draw())
    model = LinearRegression(fit_intercept=False).fit(members.X, members.y)
    attack = GaussianRegressionAttacker(FrozenEstimator(model), coef=coef, noise_std=noise_std)
    attack.fit(members)
    outside = multivariate_normal(coef, noise_std**2 * gram).logpdf(model.coef_)
    for records in (members, others):
        for score, row, response in zip(
            attack.score_samples(records), records.X, records.y, strict=True
        ):
            mean = coef + gram @ row * (response - row @ coef)
            covariance = noise_std**2 * (gram - np.outer(gram @ row, gram @ row))
            inside = multivariate_normal(mean, covariance).logpdf(model.coef_)
            assert score == pytest.approx(inside - outside, abs=1e-9)


def variation_of_correlated_pair(leverage):
    """Total variation by another way: in one dimension, for each value of the first variable."""
    correlation, rest = leverage**0.5, 1 - leverage

    def given_first(a):
        # Where the densities of N(correlation * a, rest) and N(0, 1) cross.
        crossings = np.roots(
            [1 - 1 / rest, 2 * correlation * a / rest, -leverage * a**2 / rest - np.log(rest)]
        )
        crossings = np.sort(crossings[np.isreal(crossings)].real)
        inside, outside = norm(correlation * a, rest**0.5), norm(0, 1)
        return norm.pdf(a) * abs(
            np.diff(inside.cdf(crossings)).sum() - np.diff(outside.cdf(crossings)).sum()
        )

    return 2 * integrate.quad(given_first, 0, 12, epsabs=1e-11)[0]


@pytest.mark.parametrize("leverage", slow_but([1e-4, 0.2, 0.9, 0.999], 0.2, 0.999))
def test_variation_is_that_of_two_gaussian_pairs(leverage):
    got = leverage_total_variation(leverage)
    assert got == pytest.approx(variation_of_correlated_pair(leverage), abs=1e-9)


def test_variation_has_the_known_values_and_limits():
    got = leverage_total_variation([0.2, 0.5, 0.9])
    np.testing.assert_array_equal(got.round(4), [0.1604, 0.3060, 0.6199])
    leverage = np.array([0.0, 1e-300, 1e-12, 1e-6, 0.3, 1 - 1e-9, 1 - 1e-15, 1.0])
    got = leverage_total_variation(leverage)
    assert (np.diff(got) > 0).all()
    # Next to 0 the variation is sqrt(leverage) / pi.
    np.testing.assert_allclose(got[1:4], np.sqrt(leverage[1:4]) / np.pi, rtol=1e-3)
    assert got[0] == 0 and got[-1] == 1


@pytest.mark.parametrize("n_rows", slow_but([21, 40, 140], 21))
def test_success_in_games_is_the_exact_one(n_rows):
    design, coef, noise_std, draw = make_regression(n_rows)
    attack = GaussianRegressionAttacker(coef=coef, noise_std=noise_std)
    attack.fit(Records(design, np.zeros(n_rows)))
    rates = []
    for _ in range(80):
        members, others = Records(design, draw()), Records(design, draw())
        model = LinearRegression(fit_intercept=False).fit(members.X, members.y)
        attack.set_params(victim=FrozenEstimator(model))
        rates.append((attack.predict(members).mean() + 1 - attack.predict(others).mean()) / 2)
    error = np.std(rates, ddof=1) / np.sqrt(len(rates))
    assert error < 0.01
    assert abs(np.mean(rates) - attack.success_rate_) < 3.5 * error


def test_success_in_games_without_the_row_is_the_simulated_one():
    design, coef, noise_std, draw = make_regression(30)
    attack = GaussianRegressionAttacker(
        coef=coef, noise_std=noise_std, knows_index=False, random_state=0
    ).fit(Records(design, np.zeros(30)))
    assert attack.success_rate_ < attack.success_rates_.mean()
    assert 0 < attack.success_rate_error_ < 0.005
    rates = []
    for _ in range(60):
        members, others = Records(design, draw()), Records(design, draw())
        model = LinearRegression(fit_intercept=False).fit(members.X, members.y)
        attack.set_params(victim=FrozenEstimator(model))
        rates.append((attack.predict(members).mean() + 1 - attack.predict(others).mean()) / 2)
    error = np.hypot(np.std(rates, ddof=1) / np.sqrt(len(rates)), attack.success_rate_error_)
    assert abs(np.mean(rates) - attack.success_rate_) < 3.5 * error


def test_simulation_knows_its_error():
    design, coef, noise_std, _ = make_regression(30)
    records = Records(design, np.zeros(30))
    settings = {"coef": coef, "noise_std": noise_std, "knows_index": False, "n_simulations": 200}
    runs = [
        GaussianRegressionAttacker(**settings, random_state=seed).fit(records) for seed in range(50)
    ]
    spread = np.std([run.success_rate_ for run in runs], ddof=1)
    # The standard deviation of 50 numbers is known to 10%.
    assert runs[0].success_rate_error_ == pytest.approx(spread, rel=0.35)
    again = GaussianRegressionAttacker(**settings, random_state=0).fit(records)
    assert again.success_rate_ == runs[0].success_rate_


def test_one_row_is_known_without_being_told():
    design, coef, noise_std, draw = make_regression(1, 4)
    model = LinearRegression(fit_intercept=False).fit(design, draw())
    records = Records(np.repeat(design, 5, axis=0), np.concatenate([draw() for _ in range(5)]))
    scores = [
        GaussianRegressionAttacker(
            FrozenEstimator(model),
            coef=coef,
            noise_std=noise_std,
            knows_index=knows,
            random_state=0,
        )
        .fit(Records(design, draw()))
        .score_samples(records)
        for knows in (True, False)
    ]
    np.testing.assert_allclose(*scores)


def test_scores_do_not_depend_on_the_unit_of_the_response():
    design, coef, noise_std, draw = make_regression()
    y, fresh = draw(), draw()
    for knows_index in (True, False):
        scores = []
        for unit in (1.0, 1000.0):
            model = LinearRegression(fit_intercept=False).fit(design, unit * y)
            attack = GaussianRegressionAttacker(
                FrozenEstimator(model),
                coef=unit * coef,
                noise_std=unit * noise_std,
                knows_index=knows_index,
                random_state=0,
            ).fit(Records(design, unit * y))
            scores.append(attack.score_samples(Records(design, unit * fresh)))
        np.testing.assert_allclose(*scores, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("n_features", [15, 30])
def test_a_model_that_passes_through_all_responses_gives_them_away(n_features):
    design, coef, noise_std, draw = make_regression(15, n_features)
    members, others = Records(design, draw()), Records(design, draw())
    model = LinearRegression(fit_intercept=False).fit(members.X, members.y)
    attack = GaussianRegressionAttacker(FrozenEstimator(model), coef=coef, noise_std=noise_std)
    attack.fit(members)
    np.testing.assert_array_equal(attack.leverage_, 1)
    assert attack.success_rate_ == pytest.approx(1, abs=1e-12)
    assert attack.mutual_information_ == np.inf
    assert attack.success_upper_bound_ == 1
    assert attack.predict(members).all() and not attack.predict(others).any()
    both = Records.concat([members, others])
    assert np.isfinite(attack.score_samples(both)).all()


def test_a_repeated_column_changes_nothing():
    design, coef, noise_std, draw = make_regression(30, 5)
    members, others = Records(design, draw()), Records(design, draw())
    found = []
    for columns in ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 4]):
        X, split = design[:, columns], np.array([1, 1, 1, 1, 1 / columns.count(4), 1 / 2])
        model = LinearRegression(fit_intercept=False).fit(X, members.y)
        attack = GaussianRegressionAttacker(
            FrozenEstimator(model),
            coef=coef[columns] * split[: len(columns)],
            noise_std=noise_std,
        ).fit(Records(X, members.y))
        found.append([*attack.score_samples(Records(X, others.y)), attack.success_rate_])
    np.testing.assert_allclose(*found)


@pytest.mark.parametrize("seed", range(12))
def test_exact_success_lies_between_its_bounds(seed):
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(1, 30))
    n_rows = int(rng.integers(n_features + 1, 5 * n_features + 3))
    scale = rng.lognormal(sigma=2, size=(n_rows, 1))  # rows of very different leverage
    design = scale * rng.normal(size=(n_rows, n_features))
    noise_std = rng.lognormal()
    attack = GaussianRegressionAttacker(noise_std=noise_std).fit(Records(design, np.zeros(n_rows)))
    assert attack.leverage_.sum() == pytest.approx(n_features)
    lower, exact = attack.success_lower_bound_, attack.success_rate_
    assert 0.5 <= lower < exact < attack.success_upper_bound_ <= 1
    gap = 2 * n_features * noise_std**2 / n_rows
    assert attack.generalization_gap_ == pytest.approx(gap)
    proxy = noise_std**2 * (1 + attack.leverage_.max())
    assert lower == pytest.approx(subexponential_loss_success_bound(gap, proxy), rel=1e-12)
    half_nats = -np.log(1 - attack.leverage_).mean() / 4
    assert attack.mutual_information_ == pytest.approx(half_nats)


def test_the_printed_proxy_variance_is_too_small_for_a_bound():
    # Residuals are Gaussian with variances 1 - h and 1 + h, each half of the time.
    leverage, cutoff = 0.952, 6.0
    tail = sum(norm.sf(cutoff, scale=(1 + sign * leverage) ** 0.5) for sign in (-1, 1))
    assert tail == pytest.approx(8.8e-6, rel=0.01)
    assert 2 * np.exp(-(cutoff**2) / 2) == pytest.approx(3.0e-8, rel=0.02)
    assert tail < 2 * np.exp(-(cutoff**2) / 2 / (1 + leverage))


def test_generalization_gap_is_that_of_least_squares():
    design, _, noise_std, draw = make_regression(25, 10)
    attack = GaussianRegressionAttacker(noise_std=noise_std).fit(Records(design, np.zeros(25)))
    gaps = []
    for _ in range(2000):
        y, fresh = draw(), draw()
        fitted = design @ np.linalg.lstsq(design, y, rcond=None)[0]
        gaps.append(np.mean((fresh - fitted) ** 2) - np.mean((y - fitted) ** 2))
    error = np.std(gaps) / np.sqrt(len(gaps))
    assert abs(np.mean(gaps) - attack.generalization_gap_) < 3.5 * error


def test_no_threshold_on_the_loss_does_as_well():
    advantage = []
    for seed in range(20):
        design, coef, noise_std, draw = make_regression(seed=seed)
        members, others = Records(design, draw()), Records(design, draw())
        model = LinearRegression(fit_intercept=False).fit(members.X, members.y)
        victim, both = FrozenEstimator(model), Records.concat([members, others])
        membership = np.repeat([1, 0], len(design))
        bayes = GaussianRegressionAttacker(victim, coef=coef, noise_std=noise_std).fit(members)
        loss = ThresholdAttack(victim, signal="squared_error").fit(both)
        advantage.append([attack.score(both, membership) for attack in (bayes, loss)])
    difference = np.subtract(*np.transpose(advantage))
    assert difference.mean() > 3 * difference.std(ddof=1) / np.sqrt(len(difference))


def test_membership_sets_the_threshold_and_leaves_the_scores():
    design, coef, noise_std, draw = make_regression()
    members = Records(design, draw())
    model = LinearRegression(fit_intercept=False).fit(members.X, members.y)
    both = Records.concat([members, Records(design, draw())])
    attack = GaussianRegressionAttacker(FrozenEstimator(model), coef=coef, noise_std=noise_std)
    assert attack.fit(members).offset_ == 0
    natural = attack.score(both, np.repeat([1, 0], 40))
    tuned = attack.fit(both, np.repeat([1, 0], 40)).score(both, np.repeat([1, 0], 40))
    assert tuned >= natural - 1e-12


@pytest.mark.parametrize("knows_index", [True, False])
def test_rows_of_non_members_are_not_in_the_design(knows_index):
    design, coef, noise_std, draw = make_regression()
    members = Records(design, draw())
    model = LinearRegression(fit_intercept=False).fit(members.X, members.y)
    others = Records(np.random.default_rng(1).normal(size=(70, design.shape[1])), np.ones(70))
    both = Records.concat([others[:30], members, others[30:]])
    membership = np.repeat([0, 1, 0], [30, len(members), 40])
    settings = {"coef": coef, "noise_std": noise_std, "knows_index": knows_index}
    alone, mixed = (
        GaussianRegressionAttacker(
            FrozenEstimator(model), n_simulations=50, random_state=0, **settings
        ).fit(*given)
        for given in ((members,), (both, membership))
    )
    for name in ("leverage_", "success_rate_", "mutual_information_", "success_upper_bound_"):
        np.testing.assert_array_equal(getattr(mixed, name), getattr(alone, name))
    np.testing.assert_array_equal(mixed.score_samples(members), alone.score_samples(members))


@pytest.mark.parametrize("knows_index", [True, False])
def test_scores_need_the_true_coefficients(knows_index):
    design, _, _, draw = make_regression()
    records = Records(design, draw())
    model = LinearRegression(fit_intercept=False).fit(records.X, records.y)
    attack = GaussianRegressionAttacker(FrozenEstimator(model), knows_index=knows_index)
    with pytest.raises(ValueError, match="coef is None; the true coefficients are needed"):
        attack.fit(records).score_samples(records)


def test_coefficients_must_fit_the_records():
    design, coef, _, draw = make_regression()
    records = Records(design, draw())
    with pytest.raises(ValueError, match=r"each of 20 features of the records; got shape \(19,\)"):
        GaussianRegressionAttacker(coef=coef[1:]).fit(records)
    model = LinearRegression(fit_intercept=False).fit(design[:, 1:], records.y)
    narrow = Records(design[:, 1:], records.y).with_outputs(FrozenEstimator(model))
    attack = GaussianRegressionAttacker(coef=coef).fit(records)
    with pytest.raises(ValueError, match="X has 19 features, but .* is expecting 20"):
        attack.score_samples(narrow)


def test_a_classifier_is_refused():
    design, coef, _, draw = make_regression()
    labels = (draw() > 0).astype(int)
    victim = FrozenEstimator(LogisticRegression().fit(design, labels))
    attack = GaussianRegressionAttacker(victim, coef=coef).fit(Records(design, labels))
    with pytest.raises(ValueError, match="needs the predictions of a regressor"):
        attack.score_samples(Records(design, labels))


@pytest.mark.parametrize(
    "setting",
    [{"noise_std": 0}, {"proxy": "printed"}, {"knows_index": "no"}, {"n_simulations": 1}],
    ids=str,
)
def test_bad_settings_are_refused(setting):
    with pytest.raises(ValueError, match=f"The '{next(iter(setting))}' parameter"):
        GaussianRegressionAttacker(**setting).fit(Records(np.eye(3), np.zeros(3)))
