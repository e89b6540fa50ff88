"""Programs of a user, which the type checker reads and ``tests/test_types.py`` runs.

The last one is not run: on each of its lines the checker has to find an error.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skmia import Outputs, Records, ShadowPool, audit
from skmia.attacks import (
    RMIA,
    AttributeInferenceAttack,
    CalibratedAttack,
    LabelInferenceAttack,
    LiRA,
    OneQueryAttack,
    QuantileAttack,
    RangeAttack,
    ReleasedModelAttack,
    StackedAttack,
    ThresholdAttack,
    TransferredQueryAttack,
    attack_people,
    shadow_nonmember_scores,
)
from skmia.attacks.ranges import GaussianRange
from skmia.base import Needs, connect, needs_of
from skmia.datasets import load_sklearn, make_membership_problem
from skmia.defenses import TopKDefense
from skmia.defenses.mechanisms import GaussianMechanism, gaussian_sigma
from skmia.disclosure import (
    Measurement,
    Recommendation,
    StructuralReport,
    count_parameters,
    load_policy,
    load_rules,
    recommend,
    structural_checks,
)
from skmia.disparity import DisparityTest, GroupGuesses
from skmia.epsilon import EpsilonBound, LabelAudit, OneRunBounds, one_run_epsilon_bounds
from skmia.epsilon.bounds import epsilon_lower_bound
from skmia.epsilon.canaries import make_canaries
from skmia.games import membership_game
from skmia.inspection import (
    ModelInspection,
    Reconstruction,
    inspect_model,
    reconstruct_values,
)
from skmia.leakage import MahalanobisLeakage, total_variation
from skmia.leakage.bounds import dp_advantage_bound
from skmia.memorization import CanaryFormat, Exposure, NGramModel, log_perplexity
from skmia.metrics import (
    Interval,
    MembershipRocDisplay,
    OperatingPoint,
    auc_interval,
    clopper_pearson,
    list_members,
    operating_point,
    precision_at_prior,
    rate_sequence,
    score_people,
    tpr_at_fpr_score,
)
from skmia.model_selection import RememberTraining, leave_one_model_out, make_leakage_scorer
from skmia.report import AuditReport, DriftResult, Duplicates, drift_test, find_duplicates
from skmia.report.agreement import Agreement, check_agreement
from skmia.shadow import NoisyRecords
from skmia.signals import GradientNorm, Loss, ScaledLogit, Signal, Signals
from skmia.synthetic import (
    CopyTest,
    GowerEncoder,
    InferenceRisk,
    LinkabilityRisk,
    PrivacyLoss,
    SinglingOutRisk,
    audit_table,
    excess_risk,
)
from skmia.testing import check_attack, make_attack_problem
from skmia.victims import (
    CallableVictim,
    FunctionClassifier,
    JointOutputs,
    OneOutput,
    bisect_thresholds,
    open_white_box,
    read_state,
)


def attack_with_shadow_models() -> None:
    records, membership = make_membership_problem(n_samples=200, random_state=0)
    members: Records = records[membership == 1]
    model = DecisionTreeClassifier(random_state=0).fit(members.X, members.y)
    pool = ShadowPool(model, n_estimators=8, signals=("auto", Loss()), random_state=0).fit(records)
    attack = LiRA(FrozenEstimator(model), shadows=FrozenEstimator(pool), variance="pooled")
    scores: np.ndarray = attack.fit(records).score_samples(records)
    known: np.ndarray = shadow_nonmember_scores(attack, records)
    people = attack_people(attack, records, groups=records.fingerprint, combine="max")
    print(people.pvalues.min(), list_members(scores, known, from_shadows=True).positions)
    guesses: np.ndarray = attack.predict(records)
    advantage: float = attack.score(records, membership)
    print(f"{scores.max():.2f} {guesses.mean():.2f} {round(advantage, 2)}")
    others: list[BaseEstimator] = [
        RMIA(model, shadows=pool, target_fpr=0.1),
        RMIA(model, shadows=pool, temperature="auto", a="auto", criterion=0.01),
        CalibratedAttack(model, pool, reference="rank", signal=ScaledLogit()),
        StackedAttack(model, pool, target_fpr=0.1, random_state=0),
        OneQueryAttack(model, pool, penalty="auto", bounds=(0.0, 1.0)),
        TransferredQueryAttack(model, pool, search="swap", confidence="auto", target_fpr=0.05),
        RangeAttack(model, LiRA(), pool, sampler=GaussianRange(scale=0.2), trim=(0, 1)),
        ThresholdAttack(model, signal="loss"),
        QuantileAttack(model, population=records, cv=3),
    ]
    power: pd.DataFrame = leave_one_model_out(attack, records, models=[0, 1], max_fprs=(0.1,))
    print(len(others), power.shape, pool.inside(pool.locate(records)).shape)


def infer_one_value_of_a_record() -> None:
    baskets, _ = make_membership_problem(n_samples=100, kind="baskets", random_state=0)
    model = DecisionTreeClassifier(random_state=0).fit(baskets.X, baskets.y)
    attack = AttributeInferenceAttack(model, sensitive=0, values=[0, 1], random_state=0)
    values: np.ndarray = attack.fit(baskets[:50]).predict(baskets[50:])
    comparison: pd.DataFrame = attack.compare(baskets[50:])
    print(values.shape, comparison)
    labels = LabelInferenceAttack(model, shadows=None).fit(baskets)
    table: pd.DataFrame = labels.compare(baskets[:50], baskets[50:], confidence_level=0.9)
    audited = LabelAudit(model, "own", n_canaries=20, random_state=0).fit(baskets.X, baskets.y)
    print(table.shape, audited.epsilon_ + audited.advantage_.low)


def audit_a_model() -> None:
    records, membership = make_membership_problem(n_samples=120, random_state=0)
    report: AuditReport = audit(
        DecisionTreeClassifier(random_state=0),
        records,
        membership,
        attacks={"threshold": ThresholdAttack()},
        shadows=4,
        fprs=[0.1],
        random_state=0,
    )
    agreement: Agreement = check_agreement(
        DecisionTreeClassifier().fit(records.X, records.y), records, membership, random_state=0
    )
    print(agreement.is_stop, agreement.cause is None, agreement.text.upper(), agreement.asked[:1])
    drift: DriftResult = drift_test(DecisionTreeClassifier(), records, membership, n_splits=2)
    print(drift.is_warning, report.drift is not None and report.drift.pvalue < drift.auc)
    if report.evidence == "leak" and report.baseline is not None:
        print(report.baseline.low, report.to_frame().shape, report.notes[:1])
    names: list[str] = [name.upper() for name in report.checks]
    text: str = report.to_json()
    print(names, len(text), report.scores["threshold"].shape)


def read_results() -> None:
    rng = np.random.RandomState(0)
    membership = rng.randint(2, size=200)
    scores = membership + rng.normal(size=200)
    point: OperatingPoint = operating_point(membership, scores, 0.2)
    interval: Interval = auc_interval(membership, scores.tolist())
    estimate, low, high = interval
    share: float = tpr_at_fpr_score(membership, scores, max_fpr=0.1, on_unresolvable="ignore")
    print(point.tpr + point.threshold, estimate, high - low, share, point.resolvable)
    print(round(precision_at_prior(0.5, 0.01, 0.1), 3), precision_at_prior([0.5], 0.1, 0.1).shape)
    print(clopper_pearson(3, 10)[0] + 1, dp_advantage_bound(1.0, delta=1e-5) * 100)
    bound: EpsilonBound = epsilon_lower_bound(membership, scores, delta=1e-5, random_state=0)
    bounds: OneRunBounds = one_run_epsilon_bounds(membership, scores, n_guesses=[10, 20])
    print(bounds.summary(), list_members(scores[:100], scores[100:]).positions.shape)
    print(score_people(scores, membership, combine="max").scores.shape, rate_sequence(3, 9).low)
    print(bound.epsilon, bound.summary(), total_variation(scores[:100], scores[100:]))


def draw(membership: list[int], scores: list[float]) -> pd.DataFrame:
    display = MembershipRocDisplay.from_predictions(membership, {"attack": scores}, name=None)
    return display.plot(max_fpr=0.1, color="black").frame()


def use_records_and_signals() -> None:
    frame = pd.DataFrame({"age": [30.0, 41.0, 22.0], "group": ["a", "b", "a"], "y": [0, 1, 1]})
    records = Records.from_frame(frame, target="y", drop=["group"], group="group")
    records = Records.concat([records, records[:2]]).with_fields(record_id=range(5))
    print(len(records), records.shape[0], records.fields["group"], records["record_id"] + 1)
    outputs = Outputs([[0.8, 0.2], [0.1, 0.9]], classes=[0, 1])
    signal: Signal = Loss()
    print(Loss()(outputs, np.array([0, 1])), outputs.margin([0, 1]), signal.reads, outputs.kind)
    model = LogisticRegression().fit(records.X, records.y)
    table: np.ndarray = Signals(model, ("loss", "entropy")).fit(records).transform(records)
    print(table.shape, list(Signals(model).fit(records).get_feature_names_out()))
    white_box = open_white_box(model, chunk_size=2)
    inputs = white_box.encode(records.X)
    chunks: Iterator[tuple[slice, np.ndarray]] = white_box.loss_gradients(inputs, records.y)
    for rows, gradients in chunks:
        print(rows.start, gradients.shape)
    print(GradientNorm("inputs").name, [one.path for one in read_state(model).arrays])
    print(NoisyRecords(0.1, random_state=0).fit(records).sample(3).X)


def look_into_a_file() -> None:
    records, membership = make_membership_problem(n_samples=100, random_state=0)
    members = records[membership == 1]
    model = DecisionTreeClassifier(random_state=0).fit(members.X, members.y)
    print(bisect_thresholds(model, members.X, max_queries=100, columns=[0]).lower.shape)
    inspection: ModelInspection = inspect_model(model, records)
    kept: Reconstruction = reconstruct_values(model)
    attack = ReleasedModelAttack(model, outsiders=0.1, random_state=0).fit(records)
    print(inspection, kept, attack.score_samples(records).max())
    report: StructuralReport = structural_checks(
        model, records, membership, decimals=2, thresholds={"k": 5}, rules=load_rules("safemodel")
    )
    auc = Measurement("auc", Interval(0.5, 0.4, 0.6))
    found: Recommendation = recommend(load_policy(), "file", [auc], report.checks)
    print(found.result, found.to_dict()["signatures"])
    print(report.get("k", "file").status, count_parameters(model).n_parameters, report.to_frame())


def play_games() -> None:
    records = load_sklearn("iris")
    results: dict[str, np.ndarray] = membership_game(
        DecisionTreeClassifier(),
        ThresholdAttack(),
        records.X,
        records.y,
        n_rounds=2,
        random_state=0,
    )
    print(sorted(results))
    guesses, membership = np.random.RandomState(0).randint(2, size=(2, 10, 40))
    played = GroupGuesses(guesses, membership, ["a", "b"] * 20)
    test = DisparityTest(n_permutations=99, correction="holm", random_state=0).fit(played)
    print(test.summary().upper())
    print(DisparityTest.from_table([[0.1, 0.2], [0.3, 0.1]], correction="fdr_bh").score() > 0)


def defend() -> None:
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(60, 3)), rng.randint(2, size=60)
    model = TopKDefense(RandomForestClassifier(5), k=1, renormalize=True).fit(X, y)
    private = GaussianMechanism(epsilon=1.0, delta=1e-5, random_state=0).fit(X).transform(X)
    print(model.predict_proba(X).shape, private.shape, gaussian_sigma(1.0, 1e-5, method="exact"))
    leakage = MahalanobisLeakage(noise_scale=[0.1, 0.1, 0.1]).fit(X)
    print(leakage.score_samples(X).max(), leakage.power(X, 0.1).mean())
    print(leakage.advantage(X).max(), leakage.predict(X).sum(), leakage.score(X) + 1)
    canaries = make_canaries(X, y, n_canaries=2, kind="random_label", random_state=0)
    print(canaries.X.shape, canaries.rows[0])
    loss = PrivacyLoss(version="unbiased", n_permutations=9).fit(X[:20], X[20:40], X[40:])
    for risk in (SinglingOutRisk("univariate"), LinkabilityRisk(), InferenceRisk(secrets=[0])):
        print(risk.fit(X[:20], X[20:40], X[40:]).summary(), excess_risk(3, 9, 1, 9).low)
    print(audit_table(X[:20], X[40:]).evidence, audit_table(X, X, X, random_state=0).to_frame())
    copies = CopyTest().fit(X, np.repeat([1, 0, -1], 20))
    print(copies.summary(), copies.predict(X).sum(), copies.score() + 1)
    print(loss.summary(), GowerEncoder().fit_transform(X).shape)


def ask_for_secrets() -> None:
    secrets = CanaryFormat("my pin is ##", fill="0123456789", alphabet="0123456789 inmpsy")
    model = NGramModel(2).fit(secrets.encode(["my pin is 12", "my pin is 34"]))
    exposure = Exposure(model, secrets, ties="last", level=3.0).fit()
    print(exposure.predict(["my pin is 12"]).sum(), exposure.score(["my pin is 12"]) + 1)
    print(exposure.exposure("my pin is 12"), exposure.rank(["my pin is 99"])[0])
    print(log_perplexity(model, secrets.sample(3, random_state=0)), secrets.decode([[0] * 12]))


def extend() -> None:
    problem = make_attack_problem(n_records=40, store="signals")
    check_attack(ThresholdAttack(problem.victim), problem.records, problem.membership)
    attack = connect(ThresholdAttack(), problem.victim, stored=False)
    needs: Needs | None = needs_of(attack)
    print(needs.known if needs is not None else None, needs.lacks if needs else ())
    scorer = make_leakage_scorer(problem.records, metric="auc")
    found: Duplicates = find_duplicates(problem.records, problem.membership, random_state=0)
    remembering = RememberTraining(LogisticRegression()).fit(np.eye(4), [0, 1, 0, 1])
    print(len(remembering.training_rows_))
    print(callable(scorer), found.share_near.estimate, len(found.pairs))
    victim = CallableVictim(lambda X: np.full((len(X), 2), 0.5), classes=[0, 1])
    label = CallableVictim(lambda X: np.zeros(len(X)), classes=[0, 1], kind="label")
    print(JointOutputs(LogisticRegression(), [[0, 1], [1, 1]]).labels)
    print(OneOutput(LogisticRegression(), 1).fit(np.eye(3), [0, 1, 1]).classes_, label.kind)
    print(victim.fit().predict_proba([[1.0], [2.0]]))
    loop = FunctionClassifier(
        lambda X, y, seed: DecisionTreeClassifier(random_state=seed).fit(X, y).predict_proba
    )
    print(loop.fit([[1.0], [2.0]], [0, 1]).classes_)


def be_mistaken(records: Records, attacks: Mapping[str, LiRA], report: AuditReport) -> None:
    LiRA(variance="robust")  # type: ignore[arg-type]
    LiRA(online="yes")  # type: ignore[arg-type]
    LiRA(None, None, "auto")  # type: ignore[call-arg]
    RMIA(target_fpr="low")  # type: ignore[arg-type]
    RMIA(temperature="best")  # type: ignore[arg-type]
    ShadowPool(n_estimators=2.5)  # type: ignore[arg-type]
    ShadowPool(random_state="seed")  # type: ignore[arg-type]
    ThresholdAttack(signal=0.5)  # type: ignore[arg-type]
    TopKDefense(LogisticRegression(), k=None)  # type: ignore[arg-type]
    attacks["a"].fit([[1.0, 2.0]])  # type: ignore[arg-type]
    attacks["a"].score(records)  # type: ignore[call-arg]
    print(attacks["a"].score_samples(records).label)  # type: ignore[attr-defined]
    audit(LogisticRegression(), records, fprs=0.1)  # type: ignore[arg-type]
    print(report.evidence == "leaks")  # type: ignore[comparison-overlap]
    print(report.baseline.low)  # type: ignore[union-attr]
    print(report.results_)  # type: ignore[attr-defined]
    print(records.target)  # type: ignore[attr-defined]
    print(auc_interval([0, 1], [0.1, 0.9]).upper)  # type: ignore[attr-defined]
    operating_point([0, 1], [0.1, 0.9], on_unresolvable="stop")  # type: ignore[arg-type]
    gaussian_sigma(1.0, 1e-5, "exact")  # type: ignore[arg-type]
    GradientNorm("weights")  # type: ignore[arg-type]
