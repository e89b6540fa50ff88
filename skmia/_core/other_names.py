"""Names of other libraries, with what does the same here."""

# A library; its names; what is their equivalent here, from a room on, and words behind it. Without
# an equivalent, the words alone.
_TABLE = (
    (
        "ART",
        "MembershipInferenceBlackBox",
        "attacks.ShadowAttack",
        "with known members, skmia.signals.Signals before a classifier",
    ),
    (
        "ART",
        "MembershipInferenceBlackBoxRuleBased LabelOnlyGapAttack",
        'attacks.ThresholdAttack(signal="correctness")',
    ),
    ("ART", "LabelOnlyDecisionBoundary", 'attacks.ThresholdAttack(signal="boundary_distance")'),
    ("ART", "HopSkipJump BoundaryAttack", "signals.BoundaryDistance"),
    ("ART", "ShadowModels", "ShadowPool"),
    (
        "ART",
        "AttributeInferenceBlackBox AttributeInferenceBaseline AttributeInferenceMembership "
        "AttributeInferenceWhiteBoxDecisionTree AttributeInferenceWhiteBoxLifestyleDecisionTree",
        "attacks.AttributeInferenceAttack",
    ),
    (
        "ART",
        "PDTP SHAPr",
        None,
        "has no equivalent; skmia.shadow.record_separation says how exposed each record is",
    ),
    ("ART", "Rounded", "defenses.RoundingDefense"),
    ("ART", "ClassLabels", "defenses.LabelOnlyDefense"),
    ("ART", "LabelSmoothing", "defenses.LabelSmoothingDefense"),
    (
        "ART",
        "HighConfidence ReverseSigmoid GaussianNoise",
        None,
        "has no equivalent; skmia.defenses.TopKDefense is related",
    ),
    (
        "ART",
        "SklearnClassifier ScikitlearnClassifier ScikitlearnRandomForestClassifier "
        "ScikitlearnDecisionTreeClassifier ScikitlearnLogisticRegression BlackBoxClassifier "
        "XGBoostClassifier LightGBMClassifier CatBoostARTClassifier PyTorchClassifier "
        "KerasClassifier TensorFlowV2Classifier",
        None,
        "is not needed: pass the model itself, a net through skorch, and a function as "
        "skmia.victims.CallableVictim",
    ),
    ("SACRO-ML", "LIRAAttack LiraAttack", "attacks.LiRA"),
    ("SACRO-ML", "Target", "Records"),
    (
        "SACRO-ML",
        "WorstCaseAttack",
        "signals.Signals",
        "before a classifier in a Pipeline, which learns from known members",
    ),
    ("SACRO-ML", "AttributeAttack", "attacks.AttributeInferenceAttack"),
    ("SACRO-ML", "QMIAAttack", "attacks.QuantileAttack"),
    ("SACRO-ML", "MetaAttack", "audit", "its report has the scores of each attack"),
    ("SACRO-ML", "Advantage", "metrics.membership_advantage_score"),
    ("SACRO-ML", "StructuralAttack InstanceBasedAttack", "disclosure.structural_checks"),
    (
        "SACRO-ML",
        "SafeModel SafeDecisionTreeClassifier SafeRandomForestClassifier SafeSVC SafeKerasModel",
        'disclosure.load_rules("safemodel")',
        "a fitted model is checked by skmia.disclosure.structural_checks",
    ),
    ("Privacy Meter", "run_rmia", "attacks.RMIA"),
    ("Privacy Meter", "run_loss", 'attacks.ThresholdAttack(signal="loss")'),
    ("Privacy Meter", "ReferenceMetric ReferenceAttack", "attacks.LiRA"),
    ("Privacy Meter", "LossAttack", 'attacks.ThresholdAttack(signal="loss")'),
    (
        "Privacy Meter",
        "PopulationMetric PopulationAttack",
        'attacks.CalibratedAttack(reference="population")',
    ),
    ("Privacy Meter", "ShadowMetric", "attacks.ShadowAttack"),
    ("Privacy Meter", "InformationSource", "Records"),
    ("LeakPro", "LeakPro AttackScheduler", "audit"),
    ("LeakPro", "AbstractInputHandler MIAHandler CombinedHandler", "Records"),
    ("LeakPro", "AttackLiRA MultiSignalLiRA AttackMSLiRA", "attacks.LiRA"),
    ("LeakPro", "AttackRMIA", "attacks.RMIA"),
    ("LeakPro", "AttackBASE", "attacks.RMIA"),
    ("LeakPro", "AttackP", 'attacks.CalibratedAttack(reference="population")'),
    ("LeakPro", "AttackQMIA", "attacks.QuantileAttack"),
    ("LeakPro", "AttackHopSkipJump", 'attacks.ThresholdAttack(signal="boundary_distance")'),
    ("LeakPro", "AttackRaMIA AttackRAMIA", "attacks.RangeAttack"),
    ("LeakPro", "AttackYOQO", "attacks.OneQueryAttack"),
    ("LeakPro", "AttackOSLO", "attacks.TransferredQueryAttack"),
    ("LeakPro", "AttackLossTrajectory", "signals.Trajectories"),
    ("TensorFlow Privacy", "run_attacks PrivacyReportMetadata AttackResults", "audit"),
    (
        "TensorFlow Privacy",
        "AttackInputData MembershipInferenceCallback",
        "Records",
    ),
    ("TensorFlow Privacy", "SlicingSpec", "audit(group=...)"),
    ("TensorFlow Privacy", "ThresholdAttacker", "attacks.ThresholdAttack"),
    (
        "TensorFlow Privacy",
        "AttackType LogisticRegressionAttacker MultilayerPerceptronAttacker RandomForestAttacker "
        "KNearestNeighborsAttacker",
        "attacks.ShadowAttack",
        "its classifier is a parameter",
    ),
    ("TensorFlow Privacy", "compute_score_lira", "attacks.LiRA"),
    (
        "TensorFlow Privacy",
        "compute_exposure_interpolation compute_exposure_extrapolation",
        "memorization.Exposure",
    ),
    (
        "TensorFlow Privacy",
        "DPKerasSGDOptimizer DPKerasAdamOptimizer DPKerasAdagradOptimizer DPSequential DPModel "
        "DPGradientDescentGaussianOptimizer DPAdamGaussianOptimizer VectorizedDPKerasSGDOptimizer "
        "compute_dp_sgd_privacy compute_dp_sgd_privacy_statement",
        "defenses.DPSGDClassifier",
    ),
    (
        "Opacus",
        "PrivacyEngine DPOptimizer GradSampleModule DPDataLoader ModuleValidator "
        "get_noise_multiplier",
        "defenses.DPSGDClassifier",
    ),
    ("Opacus", "RDPAccountant PRVAccountant GaussianAccountant", "defenses.PrivacyLedger"),
    ("Anonymeter", "SinglingOutEvaluator", "synthetic.SinglingOutRisk"),
    ("Anonymeter", "LinkabilityEvaluator", "synthetic.LinkabilityRisk"),
    ("Anonymeter", "InferenceEvaluator", "synthetic.InferenceRisk"),
    ("Anonymeter", "PrivacyRisk EvaluationResults", "synthetic.excess_risk"),
    ("SDMetrics", "DCROverfittingProtection DCRBaselineProtection", "synthetic.PrivacyLoss"),
    ("SDMetrics", "NewRowSynthesis", "synthetic.CopyTest"),
    (
        "SDMetrics",
        "QualityReport DiagnosticReport KSComplement TVComplement CorrelationSimilarity "
        "ContingencySimilarity RangeCoverage CategoryCoverage",
        "synthetic.audit_table",
        "similarities are in utility, columns and pairs of its report",
    ),
    (
        "SDMetrics",
        "DisclosureProtection DisclosureProtectionEstimate CategoricalCAP "
        "CategoricalGeneralizedCAP CategoricalZeroCAP CategoricalKNN NumericalLR NumericalMLP",
        "synthetic.InferenceRisk",
    ),
    (
        "SDV",
        "GaussianCopulaSynthesizer CTGANSynthesizer TVAESynthesizer CopulaGANSynthesizer "
        "CTGAN TVAE",
        "synthetic.SDVGenerator",
    ),
    ("Synth-MIA", "DOMIAS", 'synthetic.GeneratorAttack(statistic="domias")'),
    ("imbalanced-learn", "SMOTE", "synthetic.SmoteGenerator"),
    ("scikit-learn", "RocCurveDisplay DetCurveDisplay", "metrics.MembershipRocDisplay"),
    ("scikit-learn", "make_classification make_blobs", "datasets.make_membership_problem"),
    (
        "scikit-learn",
        "accuracy_score auc cross_val_predict cross_val_score cross_validate make_scorer "
        "precision_recall_curve roc_auc_score roc_curve GridSearchCV",
        None,
        "takes attacks, their scores and Records as they are: import it from sklearn",
    ),
)


def list_equivalents():
    """Return each name with its library, what is its equivalent, and the words behind."""
    return {
        name: (library, place, *words)
        for library, names, place, *words in _TABLE
        for name in names.split()
    }


def say_equivalent(name, module):
    """Return what a name of another library is here, seen from a module; None if it is unknown."""
    found = list_equivalents().get(name)
    if found is None:
        return None
    library, place, *words = found
    if place is None:
        return f"{library}'s {name} {words[0]}"
    own = module.removeprefix("skmia").removeprefix(".")
    is_own = bool(own) and place.startswith(f"{own}.")
    here = place.removeprefix(f"{own}.") if is_own else f"skmia.{place}"
    return "; ".join([f"{library}'s {name} is {here} here", *words])
