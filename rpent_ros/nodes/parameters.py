"""Parameters declared once per node, in a frozen dataclass that says what each one means.

    @dataclasses.dataclass(frozen=True)
    class DriverParameters:
        camera_rate: float = parameter(2.0, 'Highest rate of camera topics [Hz].', low=0.0)

    p = declare(node, DriverParameters)

Names, types, ranges and descriptions are then visible to `ros2 param list` and `describe`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from rpent_ros.errors import InvalidRequest

T = TypeVar('T')

_WORDS = {
    Parameter.Type.BOOL: 'true or false',
    Parameter.Type.INTEGER: 'an integer',
    Parameter.Type.DOUBLE: 'a number with a decimal point',
    Parameter.Type.STRING: 'a text',
    Parameter.Type.DOUBLE_ARRAY: 'a list of numbers with decimal points',
    Parameter.Type.STRING_ARRAY: 'a list of texts',
}
_SCALARS = {
    bool: Parameter.Type.BOOL,
    int: Parameter.Type.INTEGER,
    float: Parameter.Type.DOUBLE,
    str: Parameter.Type.STRING,
}
_ARRAYS = {float: Parameter.Type.DOUBLE_ARRAY, str: Parameter.Type.STRING_ARRAY}
# Declared by every node; never meant for the robot.
_BUILT_IN = ('use_sim_time', 'start_type_description_service')


def parameter(
    default: Any,
    description: str,
    *,
    low: float | None = None,
    high: float | None = None,
    element: type | None = None,
    read_only: bool = True,
) -> Any:
    """A dataclass field that is a ROS parameter.

    Args:
      default: value when nothing is set; its type is the parameter's.  A tuple is an array.
      description: what it means, with its unit.
      low: smallest value of a number.
      high: largest value of a number.
      element: type of an array's elements, float or str.
      read_only: a change needs a restart.
    """
    metadata = {
        'description': description,
        'low': low,
        'high': high,
        'element': element,
        'read_only': read_only,
    }
    return dataclasses.field(default=default, metadata=metadata)


def declare(node: Node, parameters: type[T]) -> T:
    """Declare all fields of a parameter dataclass on a node and return their values.

    Raises:
      InvalidRequest: a value has the wrong type or lies outside its range.
    """
    values = {
        field.name: _declare_one(node, field)
        for field in dataclasses.fields(parameters)  # type: ignore[arg-type]
    }
    return parameters(**values)


def others(node: Node, parameters: type) -> Mapping[str, Any]:
    """Values set by the user that are not fields of `parameters`, e.g. those of a robot.

    The node must have been made with automatically_declare_parameters_from_overrides.
    """
    own = {field.name for field in dataclasses.fields(parameters)}
    return {
        name: value.value
        for name, value in node.get_parameters_by_prefix('').items()
        if name not in own and name not in _BUILT_IN and not name.startswith('qos_overrides.')
    }


def _declare_one(node: Node, field: dataclasses.Field[Any]) -> Any:
    if 'description' not in field.metadata:
        raise TypeError(f'{field.name}: expected a field made by parameter()')
    kind = _type_of(field)
    if node.has_parameter(field.name):
        # Declared from the overrides without type and range; the value is taken again below.
        node.undeclare_parameter(field.name)
    is_array = kind in _ARRAYS.values()
    default: Any = field.default
    initial = list(default) if is_array else default
    try:
        # An empty list has no element type, so it is declared by type and stays unset.
        node.declare_parameter(field.name, kind if initial == [] else initial, _descriptor(field))
    except InvalidParameterTypeException:
        raise InvalidRequest(
            f'parameter {field.name} of {node.get_fully_qualified_name()}: expected '
            f'{_WORDS[kind]}, such as {_example(initial)}; {field.metadata["description"]}'
        ) from None
    except InvalidParameterValueException as error:
        # rclpy has the value in its sentence only: "Invalid parameter value (500.0) for ...".
        refused = str(error).partition('(')[2].partition(')')[0]
        raise InvalidRequest(
            f'parameter {field.name} of {node.get_fully_qualified_name()}: expected '
            f'{_range_text(field)}, got {refused}; {field.metadata["description"]}'
        ) from None
    value: Any = node.get_parameter_or(field.name, Parameter(field.name, kind, initial)).value
    return tuple(initial if value is None else value) if is_array else value


def _type_of(field: dataclasses.Field[Any]) -> Parameter.Type:
    if isinstance(field.default, tuple):
        return _ARRAYS[field.metadata['element']]
    return _SCALARS[type(field.default)]


def _descriptor(field: dataclasses.Field[Any]) -> ParameterDescriptor:
    low, high = field.metadata['low'], field.metadata['high']
    descriptor = ParameterDescriptor(
        description=field.metadata['description'], read_only=field.metadata['read_only']
    )
    if low is None and high is None:
        return descriptor
    if _type_of(field) is Parameter.Type.INTEGER:
        bounds = IntegerRange(
            from_value=int(low if low is not None else -(2**63)),
            to_value=int(high if high is not None else 2**63 - 1),
            step=1,
        )
        descriptor.integer_range = [bounds]
    else:
        descriptor.floating_point_range = [
            FloatingPointRange(
                from_value=float('-inf') if low is None else float(low),
                to_value=float('inf') if high is None else float(high),
            )
        ]
    return descriptor


def _range_text(field: dataclasses.Field[Any]) -> str:
    low, high = field.metadata['low'], field.metadata['high']
    if high is None:
        return f'at least {low}'
    if low is None:
        return f'at most {high}'
    return f'{low} to {high}'


def _example(value: Any) -> str:
    return '[0.5]' if value == [] else repr(value)
