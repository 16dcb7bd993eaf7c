"""Settings of random tests: few seeded tries, or as many random tries as PRIORSVM_FUZZ says."""

import os
from datetime import timedelta

from hypothesis import HealthCheck, settings

TRIES = int(os.environ.get("PRIORSVM_FUZZ", "0"))


def tries(few):
    """Return the settings of a test with so many seeded tries, without a time limit."""
    return settings(
        max_examples=max(few, TRIES),
        derandomize=TRIES == 0,
        database=None,
        deadline=timedelta(seconds=5) if TRIES else None,  # other work may slow a quick run
        suppress_health_check=list(HealthCheck),
    )
