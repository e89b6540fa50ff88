"""Privacy of synthetic data."""

from ._adversarial_accuracy import (
    AdversarialAccuracy,
    NearestNeighborAdversarialAccuracy,
)
from ._collapse import RareClassRate, rare_class_rate
from ._copy_test import CopyTest
from ._critic_bounds import critic_gradient_bounds, gradient_penalty_bounds
from ._dp_wgan import DPWassersteinGAN
from ._generator_attack import GeneratorAttack
from ._generators import BootstrapGenerator, SDVGenerator, SmoteGenerator
from ._neighbors import GowerEncoder
from ._privacy_loss import PrivacyLoss
from ._risks import ExcessRisk, InferenceRisk, LinkabilityRisk, excess_risk
from ._singling_out import SinglingOutRisk
from ._synthetic_distance import SyntheticDistance
from ._table import TableReport, audit_table, save_table
from ._table._evidence import (
    FIRST,
    Grounds,
    choose_evidence,
    correct,
    list_reversals,
    write_verdict,
)
from ._table._report import SCHEMA, SCHEMA_VERSION, as_document, render

__all__ = [
    "AdversarialAccuracy",
    "BootstrapGenerator",
    "CopyTest",
    "DPWassersteinGAN",
    "ExcessRisk",
    "GeneratorAttack",
    "GowerEncoder",
    "InferenceRisk",
    "LinkabilityRisk",
    "NearestNeighborAdversarialAccuracy",
    "PrivacyLoss",
    "RareClassRate",
    "SDVGenerator",
    "SinglingOutRisk",
    "SmoteGenerator",
    "SyntheticDistance",
    "TableReport",
    "audit_table",
    "critic_gradient_bounds",
    "excess_risk",
    "gradient_penalty_bounds",
    "rare_class_rate",
]
