"""What the sums that a file stores say of its training rows."""

import warnings

import numpy as np
import pandas as pd
import pytest
from cells import slow_but
from scipy import sparse
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.covariance import OAS, EmpiricalCovariance, LedoitWolf, ShrunkCovariance
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import NearestCentroid
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeRegressor

from skmia import Records
from skmia.attacks import MomentsAttack, ReleasedModelAttack
from skmia.attacks._moments import expect_strength
from skmia.metrics import auc_interval
from skmia.victims._sufficient_statistics import read_stored_sums

N_COLUMNS = 10


def draw(n, seed=0, tails=False):
    """Records of two classes, and a random half of them as members."""
    rng = np.random.default_rng([n, seed])
    y = rng.integers(2, size=n)
    noise = rng.standard_t(3, (n, N_COLUMNS)) if tails else rng.normal(size=(n, N_COLUMNS))
    X = noise * (1 + 0.5 * y[:, None]) + 0.5 * y[:, None] + 3
    return Records(X, y), (rng.permutation(n) < n // 2).astype(int)


def attack(model, records, member, **settings):
    inside = member == 1
    victim = FrozenEstimator(clone(model).fit(records.X[inside], records.y[inside]))
    return MomentsAttack(victim, **settings).fit(records)


def measure(model, n, n_tables=6, tails=False):
    """Mean AUC, what was expected, and the AUC of the same scores for another membership."""
    found = []
    for seed in range(n_tables):
        records, member = draw(n, seed, tails)
        one = attack(model, records, member)
        scores = one.score_samples(records)
        other = np.random.default_rng(seed).permutation(member)
        aucs = roc_auc_score(member, scores), roc_auc_score(other, scores)
        found.append((aucs[0], one.expected_auc_, aucs[1]))
    error = np.sqrt((n + 1) / (3 * n**2) / n_tables)
    return *np.mean(found, axis=0), error


@pytest.mark.parametrize("n", slow_but([200, 2000], 200))
@pytest.mark.parametrize(
    "model, n_equations",
    [
        (GaussianNB(), 42),
        pytest.param(LinearDiscriminantAnalysis(solver="lsqr"), 77, marks=pytest.mark.slow),
        (LinearDiscriminantAnalysis(store_covariance=True), 77),
        (QuadraticDiscriminantAnalysis(), 132),
    ],
    ids=["naive", "lsqr", "svd", "quadratic"],
)
def test_strength_is_what_is_expected(model, n_equations, n):
    records, member = draw(n)
    one = attack(model, records, member)
    assert one.n_equations_ == n_equations and one.n_rows_ == member.sum()
    h = n_equations / n
    assert one.leverage_.mean() == pytest.approx(h)
    auc, expected, of_others, error = measure(model, n)
    assert abs(auc - expected) < 4 * error
    assert abs(expected - ndtr(np.sqrt(2 * h / (1 - h)))) < 0.01
    assert abs(of_others - 0.5) < 4 * error


@pytest.mark.parametrize("model", [GaussianNB(), QuadraticDiscriminantAnalysis()])
def test_large_tables_reveal_little(model):
    records, member = draw(20_000)
    one = attack(model, records, member)
    interval = auc_interval(member, one.score_samples(records), confidence_level=0.99)
    assert interval.low <= one.expected_auc_ <= interval.high
    assert 0.52 < one.expected_auc_ < 0.55 and one.expected_tpr_ < 0.02


EXACT = {
    "gaussian": GaussianNB(),
    "bits": BernoulliNB(binarize=3.0),
    "counts": MultinomialNB(),
    "complement": ComplementNB(),
    "linear": LinearDiscriminantAnalysis(),
    "linear shrunk": LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.3),
    "quadratic regular": QuadraticDiscriminantAnalysis(reg_param=0.3),
    "centroids": NearestCentroid(),
    "prior": DummyClassifier(),
    "scaler": StandardScaler(),
    "imputer": SimpleImputer(),
    "components": PCA(),
    "some components": PCA(3),
    "covariance": EmpiricalCovariance(),
    "centered covariance": EmpiricalCovariance(assume_centered=True),
    "shrunk covariance": ShrunkCovariance(),
    "OAS": OAS(),
    "Ledoit-Wolf": LedoitWolf(),
    "pipeline": make_pipeline(StandardScaler(), PCA(3), GaussianNB()),
    "vote": VotingClassifier([("a", GaussianNB()), ("b", LinearDiscriminantAnalysis())]),
}


@pytest.mark.parametrize("name", EXACT)
def test_the_equations_hold_for_the_members(name):
    """Each stored sum is the sum of the features over the members, up to rounding."""
    records, member = draw(300)
    records = Records(np.abs(records.X), records.y)
    one = attack(EXACT[name], records, member)
    sources, _ = read_stored_sums(one.victim, records, member.sum())
    for source in sources:
        for block in source.blocks:
            own = member == 1
            if block.label is not None:
                own = own & (source.y == block.label)
            y = None if source.y is None else source.y[own]
            values = block.features(source.X[own], y)
            scale = np.abs(values).sum(axis=0) + np.abs(block.targets) + 1e-12
            assert np.abs(values.sum(axis=0) - block.targets).max() < 1e-8 * scale.max()


def test_few_candidates_are_known_for_sure():
    records, member = draw(60)
    one = attack(QuadraticDiscriminantAnalysis(), records, member)
    assert one.n_equations_ == len(records)
    assert roc_auc_score(member, one.score_samples(records)) == pytest.approx(1, abs=1e-12)
    assert np.array_equal(one.predict(records), member)


def test_heavy_tails_are_exposed_and_counted():
    records, member = draw(2000, tails=True)
    one = attack(GaussianNB(), records, member)
    exposed = one.leverage_ > 0.1
    assert one.n_exposed_ == exposed.sum() > 20
    scores = one.score_samples(records)
    among = auc_interval(member[exposed], scores[exposed])
    assert among.low > roc_auc_score(member, scores)
    auc, expected, _, error = measure(QuadraticDiscriminantAnalysis(), 600, tails=True)
    assert abs(auc - expected) < 4 * error


@pytest.mark.parametrize("model", [GaussianNB(), QuadraticDiscriminantAnalysis()])
def test_half_of_the_members_may_be_unknown(model):
    found = []
    for seed in range(8):
        records, _ = draw(900, seed)
        trained = np.zeros(900, dtype=bool)
        trained[:600] = True  # 300 candidates, and 300 rows that are none
        candidates = records[np.arange(900) >= 300]
        victim = FrozenEstimator(clone(model).fit(records.X[trained], records.y[trained]))
        one = MomentsAttack(victim, outsiders=0.5).fit(candidates)
        scores = one.score_samples(candidates)
        found.append((roc_auc_score(np.arange(600) < 300, scores), one.expected_auc_))
    auc, expected = np.mean(found, axis=0)
    error = np.sqrt(601 / (3 * 600**2) / len(found))
    assert abs(auc - expected) < 4 * error
    assert auc > 0.5 + 4 * error


def test_scores_do_not_depend_on_the_order_of_candidates_or_the_scale_of_features():
    records, member = draw(300)
    scores = attack(GaussianNB(), records, member).score_samples(records)
    order = np.random.default_rng(0).permutation(300)
    turned = attack(GaussianNB(), records[order], member[order])
    assert turned.score_samples(records) == pytest.approx(scores)
    leverage = turned.leverage_
    assert leverage[np.argsort(order)] == pytest.approx(
        attack(GaussianNB(), records, member).leverage_
    )
    moved = Records(1e3 * records.X + 1e4, records.y)
    assert attack(GaussianNB(), moved, member).score_samples(moved) == pytest.approx(
        scores, abs=1e-3
    )


def test_a_record_that_was_no_candidate_is_judged_as_one_more():
    records, member = draw(600)
    for k in range(5):
        known = np.arange(600) != k
        inside = member == 1
        victim = QuadraticDiscriminantAnalysis().fit(records.X[inside], records.y[inside])
        some = MomentsAttack(FrozenEstimator(victim)).fit(records[known])
        whole = MomentsAttack(FrozenEstimator(victim)).fit(records)
        further = some.score_samples(records[[k]])
        assert further == pytest.approx(whole.score_samples(records[[k]]), abs=0.01)


def test_a_constant_column_says_nothing():
    records, member = draw(300)
    constant = np.column_stack([records.X, np.full(300, 0.1)])
    wide = Records(constant, records.y)
    one = attack(GaussianNB(), wide, member)
    assert one.n_equations_ == 42
    assert one.score_samples(wide) == pytest.approx(
        attack(GaussianNB(), records, member).score_samples(records), rel=1e-6
    )


def test_more_equations_than_can_be_solved_are_added_at_random(monkeypatch):
    monkeypatch.setattr("skmia.attacks._moments._MOST_EQUATIONS", 60)
    rng, found = np.random.default_rng(0), []
    for seed in range(8):
        X = sparse.csr_array((rng.random((600, 200)) < 0.1).astype(float))
        y, member = rng.integers(2, size=600), (rng.permutation(600) < 300).astype(int)
        inside = np.flatnonzero(member)
        victim = FrozenEstimator(MultinomialNB().fit(X[inside], y[inside]))
        one = MomentsAttack(victim, random_state=seed).fit(Records(X, y))
        assert one.n_sums_ == 402 and one.n_equations_ == 120
        scores = one.score_samples(Records(X, y))
        found.append((roc_auc_score(member, scores), one.expected_auc_))
    auc, expected = np.mean(found, axis=0)
    assert abs(auc - expected) < 4 * np.sqrt(601 / (3 * 600**2) / len(found))


def test_document_frequencies_are_sums():
    rng = np.random.default_rng(0)
    words = np.array([f"word{k}" for k in range(40)])
    texts = np.array([" ".join(words[rng.random(40) < 0.3]) for _ in range(400)], dtype=object)
    y, member = rng.integers(2, size=400), rng.permutation(400) < 200
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts[member], y[member])
    one = MomentsAttack(FrozenEstimator(model)).fit(Records(texts, y))
    assert one.n_equations_ == 41 and one.n_rows_ == 200
    interval = auc_interval(member.astype(int), one.score_samples(Records(texts, y)))
    assert interval.low <= one.expected_auc_ <= interval.high and interval.low > 0.5


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_members", [30, 50])
def test_texts_with_a_word_of_their_own_are_found_by_its_frequency(dtype, n_members):
    rng = np.random.default_rng(0)
    words = np.array([f"word{k}" for k in range(20)])
    texts = [" ".join([*words[rng.random(20) < 0.3], f"id{k}"]) for k in range(100)]
    records = Records(np.array(texts, dtype=object), rng.integers(2, size=100))
    member = rng.permutation(100) < n_members
    vectorizer = TfidfVectorizer(dtype=dtype).fit(records.X[member])
    one = MomentsAttack(FrozenEstimator(vectorizer)).fit(records)
    assert one.n_rows_ == n_members
    assert one.score(records, member) == 1.0


def test_few_frequencies_are_of_the_expected_number_of_texts():
    texts = np.array(["a b", "a", "b a", "b"] * 6, dtype=object)
    records, member = Records(texts, np.tile([0, 1], 12)), np.arange(24) < 12
    vectorizer = TfidfVectorizer(token_pattern=r"\w", smooth_idf=False).fit(texts[member])
    one = MomentsAttack(FrozenEstimator(vectorizer)).fit(records)
    assert one.n_rows_ == 12  # of which 9 are three fourths


def test_categories_are_counted():
    rng = np.random.default_rng(0)
    X, y = rng.integers(5, size=(400, 6)), rng.integers(2, size=400)
    member = rng.permutation(400) < 200
    victim = CategoricalNB(min_categories=5).fit(X[member], y[member])
    one = MomentsAttack(FrozenEstimator(victim)).fit(Records(X, y))
    assert one.n_equations_ == 2 * (1 + 6 * 4)
    interval = auc_interval(member.astype(int), one.score_samples(Records(X, y)))
    assert interval.low <= one.expected_auc_ <= interval.high


def test_missing_values_are_left_out_of_the_sums():
    records, member = draw(400)
    X = np.where(np.random.default_rng(0).random(records.X.shape) < 0.1, np.nan, records.X)
    records = Records(X, records.y)
    one = attack(make_pipeline(StandardScaler(), SimpleImputer()), records, member)
    assert one.n_equations_ == 30 and one.misfit_ < 2


def test_what_no_equation_covers_is_refused_by_name():
    records, member = draw(300)
    inside = member == 1
    weights = np.random.default_rng(0).random(inside.sum())
    weighted = GaussianNB().fit(records.X[inside], records.y[inside], sample_weight=weights)
    with pytest.raises(ValueError, match="not whole numbers, so its rows were weighted"):
        MomentsAttack(FrozenEstimator(weighted)).fit(records)
    with pytest.raises(ValueError, match="metric='manhattan'"):
        attack(NearestCentroid(metric="manhattan"), records, member)
    with pytest.raises(TypeError, match="Stored sums are read of GaussianNB.*LogisticRegression"):
        attack(LogisticRegression(), records, member)
    given = LinearDiscriminantAnalysis(priors=[0.5, 0.5], store_covariance=True)
    one = attack(given, records, member)
    assert one.n_equations_ == 20 and "priors were given" in one.refused_[0]
    chosen = attack(LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"), records, member)
    assert chosen.n_equations_ == 22 and "shrinkage='auto'" in chosen.refused_[0]


def test_what_a_setting_hides_is_refused_and_all_else_is_read():
    records, member = draw(60)
    members = records[member == 1]

    def read(model):
        sources, refused = read_stored_sums(model.fit(members.X, members.y), records, 30)
        return [(type(one.model).__name__, one.n_rows, one.reads) for one in sources], refused

    for model, why in [
        (NearestCentroid(shrink_threshold=0.1), "its centers were moved by shrink_threshold"),
        (
            DummyClassifier(strategy="constant", constant=1),
            "a constant is stored instead of shares",
        ),
        (TfidfTransformer(use_idf=False), "with use_idf=False it stores no frequencies"),
    ]:
        name = type(model).__name__
        told = f"The sums of this {name} are not read: {why}."
        with pytest.raises(ValueError, match=f"^No sums of this {name} are read. {told}"):
            read(model)
        sources, refused = read(make_pipeline(StandardScaler(), model))
        stored = {"n_samples_seen_", "mean_", "var_", "scale_"}
        assert sources == [("StandardScaler", 30.0, stored)] and refused == [told]
    sources, refused = read(ShrunkCovariance(shrinkage=1.0))
    assert sources == [("ShrunkCovariance", None, {"location_"})]
    told = "Not all numbers of this {} are read: {} leaves no covariance."
    assert refused == [told.format("ShrunkCovariance", "shrinkage=1")]
    (source,), refused = read(QuadraticDiscriminantAnalysis(reg_param=1.0))
    assert source[1] == 30 and source[2] >= {"means_"} and "scalings_" not in source[2]
    assert refused == [told.format("QuadraticDiscriminantAnalysis", "reg_param=1")]


def test_rows_of_another_kind_are_noticed():
    records, member = draw(300)
    inside = member == 1
    victim = FrozenEstimator(GaussianNB().fit(records.X[inside] + 2, records.y[inside]))
    with pytest.warns(UserWarning, match="do not fit to the candidates"):
        assert MomentsAttack(victim).fit(records).misfit_ > 3


def test_strength_of_a_mixture():
    assert expect_strength(np.zeros(5)) == (0.5, 0.01)
    h = 0.2
    auc, tpr = expect_strength(np.full(50, 4 * h / (1 - h)))
    assert auc == pytest.approx(ndtr(np.sqrt(2 * h / (1 - h))))
    assert tpr == pytest.approx(ndtr(-2.3263479 + 2 * np.sqrt(h / (1 - h))), abs=1e-6)


def test_models_of_folds_are_read_one_by_one():
    records, member = draw(400)
    inside = member == 1
    model = CalibratedClassifierCV(make_pipeline(StandardScaler(), GaussianNB()), cv=3)
    victim = FrozenEstimator(model.fit(records.X[inside], records.y[inside]))
    with pytest.raises(ValueError, match="fitted on some of the rows"):
        MomentsAttack(victim).fit(records)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = ReleasedModelAttack(victim, random_state=0).fit(records)
    read = [name for name in whole.parts_ if name.startswith("moments")]
    assert read == [f"moments in calibrated_classifiers_[{k}].estimator" for k in range(3)]
    assert roc_auc_score(member, whole.score_samples(records)) > 0.7


def test_the_ledger_lists_what_each_part_reads():
    records, member = draw(300)
    inside = member == 1
    model = make_pipeline(StandardScaler(), GaussianNB())
    victim = FrozenEstimator(model.fit(records.X[inside], records.y[inside]))
    one = ReleasedModelAttack(victim, random_state=0).fit(records)
    ledger = one.ledger_.set_index("place")
    assert set(ledger["part"]) == {"moments"}
    assert ledger.loc["theta_ of GaussianNB", "size"] == 20
    assert "var_smoothing of GaussianNB" not in ledger.index
    assert 0 <= one.expected_auc_ - one.parts_["moments"].expected_auc_ < 0.03
    net = MLPClassifier((3,), max_iter=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        victim = FrozenEstimator(net.fit(records.X[inside], records.y[inside]))
    one = ReleasedModelAttack(victim, random_state=0).fit(records)
    ledger = one.ledger_.set_index("place")
    assert ledger.loc["coefs_ of MLPClassifier", "size"] == 33
    assert ledger["part"].isna().all() and one.expected_auc_ is None


NODES = {"tree_", "values", "feature", "impurity", "left_child", "missing_go_to_left"}
NODES |= {"n_node_samples", "right_child", "weighted_n_node_samples"}
OPTIMUM = "conditions at the optimum"
OF_SVC = {"dual_coef_", "support_", "class_weight_", "shape_fit_", "intercept_", "_dual_coef_"}
OF_SVC |= {"_n_support", "_intercept_", "_num_iter"}
# What a file stores, by the part that reads it.
READ = {
    "tree": (
        DecisionTreeRegressor(max_depth=3),
        {"node equations": NODES, "split thresholds": {"threshold"}},
    ),
    "forest": (
        RandomForestClassifier(3, max_depth=3),
        {"node equations": NODES, "split thresholds": {"threshold"}},
    ),
    "forest of numbers": (
        RandomForestRegressor(3, max_depth=3),
        {
            "node equations": NODES - {"impurity"},
            "split thresholds": {"threshold"},
            None: {"impurity"},
        },
    ),
    "boosting": (
        GradientBoostingClassifier(n_estimators=2),
        {None: NODES | {"threshold", "class_prior_", "train_score_"}},
    ),
    "linear": (LogisticRegression(tol=1e-8), {OPTIMUM: {"coef_", "intercept_", "n_iter_"}}),
    "vectors": (SVC(), {"stored values": {"support_vectors_"}, None: OF_SVC}),
    "coefficients of another model": (
        make_pipeline(
            SelectFromModel(SGDClassifier(random_state=0), threshold=-np.inf),
            LogisticRegression(tol=1e-8),
        ),
        {
            OPTIMUM: {"coef_", "intercept_", "n_iter_"},
            None: {"coef_", "intercept_", "_expanded_class_weight"},
        },
    ),
    "values of rows": (
        make_pipeline(MinMaxScaler(), GaussianNB()),
        {
            "moments": {"theta_", "var_", "class_count_", "class_prior_", "epsilon_"},
            "stored values": {"data_min_", "data_max_"},
            None: {"data_range_", "min_", "scale_"},
        },
    ),
    "parameters that are arrays": (
        GaussianNB(priors=np.array([0.5, 0.5])),
        {"moments": {"theta_", "var_", "class_count_", "epsilon_"}},
    ),
}


@pytest.mark.parametrize("name", READ)
def test_the_ledger_tells_what_is_not_read(name):
    model, expected = READ[name]
    records, member = draw(200)
    members = records[member == 1]
    victim = FrozenEstimator(clone(model).fit(members.X, members.y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = ReleasedModelAttack(victim, random_state=0).fit(records)
    found = {}
    for place, part in zip(one.ledger_["place"], one.ledger_["part"], strict=True):
        found.setdefault(None if pd.isna(part) else part, set()).add(place.split(" of ")[0])
    assert found == expected


def test_what_cannot_be_looked_into_is_in_the_ledger():
    records, member = draw(200)
    members = records[member == 1]
    model = GaussianNB().fit(members.X, members.y)
    model.cache_ = (number for number in members.y)
    one = ReleasedModelAttack(FrozenEstimator(model), random_state=0).fit(records)
    unread = one.ledger_[one.ledger_["part"].isna()]
    assert unread["size"].tolist() == [0] and "cache_" in unread["place"].item()
