"""Private parts of SDV that skmia uses: a new version that moves one fails by its name."""

import pandas as pd
import pytest
from moved import moved

from skmia._core.sdv_parts import seed_synthesizer

pytest.importorskip("sdv")


def test_seed_of_a_synthesizer():
    from skmia.synthetic import SDVGenerator

    synthesizer = SDVGenerator().fit(pd.DataFrame({"a": [1.5, 2.5, 4.0] * 20})).synthesizer_
    with moved("synthesizers of SDV no longer have _set_random_state."):
        drawn = []
        for seed in (1, 1, 2):
            seed_synthesizer(synthesizer, seed)
            made = synthesizer.sample(num_rows=5)
            drawn.append((made["table"] if isinstance(made, dict) else made)["a"].tolist())
        assert drawn[0] == drawn[1] != drawn[2]
