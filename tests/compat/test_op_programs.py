"""Programs of raw ops give in TensorFleet what they give in TensorFlow, by either client."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real

import tensorfleet as fleet
from tests.compat import op_programs
from tests.compat.cluster import Cluster
from tests.compat.op_programs import PROGRAMS, tables

assert tables.__name__  # imported for the programs that it brings in
real.disable_v2_behavior()


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_gives_what_tensorflow_gives(name: str) -> None:
    theirs = op_programs.run(real, PROGRAMS[name])
    op_programs.check(name, op_programs.run(fleet, PROGRAMS[name]), theirs)


@pytest.mark.slow
@pytest.mark.cluster
def test_programs_of_a_tensorflow_client(local: Cluster) -> None:
    """TensorFlow's own client has the programs run on a task of ours."""
    failed = []
    for name, made in PROGRAMS.items():
        theirs = op_programs.run(real, made)
        try:
            op_programs.check(name, op_programs.run(real, made, local.target("local")), theirs, shapes=False)
        except AssertionError as error:
            failed.append(f"{name}: {error}")
    assert not failed, "\n".join(failed)
