"""Text and hash of message types, read from the interface files that every ROS package installs.

A bag carries the definition of each of its types, so that it can be read where the packages that
made it are not installed.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import pathlib
import re

from rpent_ros.errors import BagFailed

_DELIMITER = '=' * 80
# Type, optional string bound, optional array bound, then the field's name.
_FIELD = re.compile(
    r'^\s*([A-Za-z][A-Za-z0-9_/]*)(?:<=\d+)?(?:\[[^\]]*\])?\s+[A-Za-z]', re.MULTILINE
)
_PRIMITIVE = re.compile(r'bool|byte|char|float(32|64)|u?int(8|16|32|64)|w?string')


@dataclasses.dataclass(frozen=True)
class MessageDefinition:
    """Definition of one message type.

    Attributes:
      type: e.g. 'sensor_msgs/msg/Image'.
      text: its .msg file, followed by those of all nested types, each behind a line of '=' and a
        line 'MSG: package/Type'.
      hash: its RIHS01 type hash; '' where the package installs none.
    """

    type: str
    _: dataclasses.KW_ONLY
    text: str
    hash: str = ''


@functools.cache
def load_definition(type_name: str) -> MessageDefinition:
    """Read the definition of an installed message type.

    Args:
      type_name: 'package/msg/Type'.

    Raises:
      BagFailed: the type is not a message, or its package is not in AMENT_PREFIX_PATH.
    """
    package, separator, name = type_name.partition('/msg/')
    if not separator or not name:
        raise BagFailed(f'message type: expected package/msg/Type, got {type_name!r}')
    text = _msg_file(package, name).read_text()
    pieces = [text]
    seen = {f'{package}/{name}'}
    waiting = _nested_types(text, package)
    while waiting:
        nested = waiting.pop(0)
        if nested in seen:
            continue
        seen.add(nested)
        nested_package, _, nested_name = nested.partition('/')
        nested_text = _msg_file(nested_package, nested_name).read_text()
        pieces.append(f'{_DELIMITER}\nMSG: {nested}\n{nested_text}')
        waiting += _nested_types(nested_text, nested_package)
    return MessageDefinition(type_name, text='\n'.join(pieces), hash=_type_hash(package, name))


def _nested_types(text: str, package: str) -> list[str]:
    """Types named by the fields of a .msg file, as 'package/Type', in order."""
    out = []
    for match in _FIELD.finditer(text):
        name = match.group(1)
        if _PRIMITIVE.fullmatch(name):
            continue
        full = name.replace('/msg/', '/') if '/' in name else f'{package}/{name}'
        if full not in out:
            out.append(full)
    return out


def _msg_file(package: str, name: str) -> pathlib.Path:
    prefixes = [p for p in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p]
    for prefix in prefixes:
        path = pathlib.Path(prefix) / 'share' / package / 'msg' / f'{name}.msg'
        if path.is_file():
            return path
    raise BagFailed(
        f'definition of {package}/msg/{name}: no such file in AMENT_PREFIX_PATH '
        f'({os.pathsep.join(prefixes) or "empty"}); is the package built and sourced?'
    )


def _type_hash(package: str, name: str) -> str:
    path = _msg_file(package, name).with_suffix('.json')
    if not path.is_file():
        return ''
    wanted = f'{package}/msg/{name}'
    for entry in json.loads(path.read_text()).get('type_hashes', ()):
        if entry['type_name'] == wanted:
            return str(entry['hash_string'])
    return ''
