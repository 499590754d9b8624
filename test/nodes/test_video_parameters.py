"""The video rebuilds a robot from the driver's parameters, less those of the node itself."""

import dataclasses

import pytest

from rpent_ros.video import NODE_PARAMETERS

pytestmark = pytest.mark.ros


def test_node_parameters_are_those_that_the_driver_node_keeps() -> None:
    from rpent_ros.nodes.driver_parameters import DriverParameters

    assert {field.name for field in dataclasses.fields(DriverParameters)} == NODE_PARAMETERS
