"""JSON Schema for tool arguments: builders, and refusals that a model can act on."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any

import jsonschema

from rpent_ros.errors import BadArguments

Schema = dict[str, Any]


def number(description: str, **bounds: Any) -> Schema:
    """A number; bounds are JSON Schema keywords: minimum, exclusiveMinimum, maximum, default."""
    return {'type': 'number', 'description': description, **bounds}


def optional_number(description: str, **bounds: Any) -> Schema:
    """A number or null; null, the default, leaves the quantity alone."""
    return {'type': ['number', 'null'], 'description': description, 'default': None, **bounds}


def integer(description: str, **bounds: Any) -> Schema:
    """A whole number."""
    return {'type': 'integer', 'description': description, **bounds}


def optional_integer(description: str, **bounds: Any) -> Schema:
    """A whole number or null."""
    return {'type': ['integer', 'null'], 'description': description, 'default': None, **bounds}


def boolean(description: str, **keywords: Any) -> Schema:
    """True or false."""
    return {'type': 'boolean', 'description': description, **keywords}


def text(description: str, **keywords: Any) -> Schema:
    """A string that is not empty."""
    return {'type': 'string', 'description': description, 'minLength': 1, **keywords}


def optional_text(description: str, **keywords: Any) -> Schema:
    """A string that is not empty, or null."""
    out = text(description, **keywords)
    return {**out, 'type': ['string', 'null'], 'default': None}


def choice(description: str, options: Sequence[str], **keywords: Any) -> Schema:
    """One of a few words."""
    return {'type': 'string', 'description': description, 'enum': list(options), **keywords}


def optional_choice(description: str, options: Sequence[str]) -> Schema:
    """One of a few words, or null."""
    return {
        'type': ['string', 'null'],
        'description': description,
        'enum': [*options, None],
        'default': None,
    }


def numbers(description: str, length: int, **keywords: Any) -> Schema:
    """A list of numbers of fixed length."""
    return _list(description, length, {'type': 'number'}, keywords)


def integers(description: str, length: int, **keywords: Any) -> Schema:
    """A list of whole numbers, 0 or above, of fixed length."""
    return _list(description, length, {'type': 'integer', 'minimum': 0}, keywords)


def many_integers(description: str, length: int, *, most: int, **keywords: Any) -> Schema:
    """A list of 1 to `most` lists of whole numbers, 0 or above, each of fixed length."""
    one: Schema = {'type': 'array', 'items': {'type': 'integer', 'minimum': 0}}
    out = _list(description, length, {**one, 'minItems': length, 'maxItems': length}, keywords)
    return {**out, 'minItems': 1, 'maxItems': most}


def arguments(properties: Mapping[str, Schema] | None = None) -> Schema:
    """The schema of a tool's arguments; those without a default are required, others unknown."""
    properties = dict(properties or {})
    return {
        'type': 'object',
        'properties': properties,
        'required': [name for name, schema in properties.items() if 'default' not in schema],
        'additionalProperties': False,
    }


def check(tool: str, schema: Schema, given: Any) -> dict[str, Any]:
    """Check arguments and fill in defaults, before anything moves.

    Args:
      tool: tool name, for the message.
      schema: made by `arguments`.
      given: what the caller sent.

    Returns:
      All arguments of the schema; whole numbers as int.

    Raises:
      BadArguments: naming the argument, what was expected and what came.
    """
    if not isinstance(given, Mapping):
        raise BadArguments(f'{tool}: expected arguments as a JSON object, got {_shown(given)}')
    properties = schema['properties']
    for name in given:
        if name not in properties:
            known = ', '.join(properties) or 'none'
            raise BadArguments(f'{tool}: unknown argument {name!r}; known arguments: {known}')
    for name in schema['required']:
        if name not in given:
            raise BadArguments(
                f'{tool}: argument {name!r} is missing; expected {_expected(properties[name])}'
            )
    _refuse_non_finite(tool, '', given)
    error = min(
        jsonschema.Draft202012Validator(schema).iter_errors(dict(given)),
        key=lambda e: [str(part) for part in e.absolute_path],
        default=None,
    )
    if error is not None:
        raise BadArguments(f'{tool}: {_sentence(error)}')
    filled = {}
    for name, definition in properties.items():
        value = given[name] if name in given else copy.deepcopy(definition['default'])
        filled[name] = _coerced(definition, value)
    return filled


def exactly_one(tool: str, **given: Any) -> None:
    """Refuse a call that gives none or several of arguments that exclude each other; null is none.

    Raises:
      BadArguments: naming the arguments and those that were given.
    """
    chosen = [name for name, value in given.items() if value is not None]
    if len(chosen) == 1:
        return
    *names, last = given
    everything = 'both' if len(given) == 2 else ' and '.join(chosen)
    raise BadArguments(
        f'{tool}: expected exactly one of {", ".join(names)} and {last}, got '
        + (everything if chosen else 'none')
    )


def _list(description: str, length: int, items: Schema, keywords: Mapping[str, Any]) -> Schema:
    kind = ['array', 'null'] if keywords.get('default', ...) is None else 'array'
    sizes = {'minItems': length, 'maxItems': length}
    return {'type': kind, 'description': description, 'items': items, **sizes, **keywords}


def _sentence(error: jsonschema.ValidationError) -> str:
    where = ''
    for part in error.absolute_path:
        where += f'[{part}]' if isinstance(part, int) else f'.{part}' if where else str(part)
    if error.validator in ('minItems', 'maxItems'):
        return f'{where}: expected {_expected(error.schema)}, got {len(error.instance)}'
    if error.validator == 'additionalProperties':
        known = error.schema['properties']
        unknown = next(name for name in error.instance if name not in known)
        return f'{where}: unknown key {unknown!r}; known keys: {", ".join(known)}'
    if error.validator == 'required':
        missing = next(n for n in error.schema['required'] if n not in error.instance)
        expected = _expected(error.schema['properties'][missing])
        return f'{where}: key {missing!r} is missing; expected {expected}'
    return f'{where}: expected {_expected(error.schema)}, got {_shown(error.instance)}'


def _expected(schema: Schema) -> str:
    """What a schema accepts, in words."""
    if 'enum' in schema:
        return 'one of ' + ', '.join(
            'null' if option is None else str(option) for option in schema['enum']
        )
    kinds = schema['type'] if isinstance(schema['type'], list) else [schema['type']]
    words = {
        'number': 'a finite number',
        'integer': 'a whole number',
        'string': 'a string that is not empty',
        'boolean': 'true or false',
        'null': 'null',
        'object': 'an object with the keys ' + ', '.join(schema.get('properties', ())),
        'array': _expected_list(schema),
    }
    return ' or '.join(words[kind] + (_range(schema) if kind != 'null' else '') for kind in kinds)


def _expected_list(schema: Schema) -> str:
    items = schema.get('items', {})
    word = {'number': 'numbers', 'integer': 'whole numbers'}.get(items.get('type'), 'values')
    if items.get('type') == 'array':
        word = f'lists of {_expected_list(items)}'
    low, high = schema.get('minItems', 0), schema.get('maxItems')
    return f'{low} {word}' if low == high else f'{low} to {high} {word}'


def _range(schema: Schema) -> str:
    low, above = schema.get('minimum'), schema.get('exclusiveMinimum')
    high = schema.get('maximum')
    start = f'above {above:g}' if above is not None else '' if low is None else f'from {low:g}'
    end = '' if high is None else f'up to {high:g}' if start else f'of at most {high:g}'
    return ''.join(f' {part}' for part in (start, end) if part)


def _shown(value: Any) -> str:
    kind = {str: 'string', bool: 'boolean', list: 'list', dict: 'object'}.get(type(value))
    shown = 'null' if value is None else repr(value)
    if len(shown) > 60:
        shown = shown[:57] + '...'
    return f'{shown} (a {kind})' if kind else shown


def _refuse_non_finite(tool: str, where: str, value: Any) -> None:
    """JSON Schema lets NaN and infinity pass as numbers; a robot must not."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            _refuse_non_finite(tool, f'{where}.{name}' if where else str(name), item)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            _refuse_non_finite(tool, f'{where}[{index}]', item)
    elif isinstance(value, float) and not math.isfinite(value):
        raise BadArguments(f'{tool}: {where}: expected a finite number, got {value}')


def _coerced(schema: Schema, value: Any) -> Any:
    """JSON Schema accepts 3.0 where a whole number is asked for; handlers get an int."""
    kinds = schema['type'] if isinstance(schema['type'], list) else [schema['type']]
    if 'integer' in kinds and isinstance(value, float):
        return int(value)
    if 'array' in kinds and value is not None:
        return [_coerced(schema['items'], item) for item in value]
    if 'object' in kinds and value is not None:
        inner = schema.get('properties', {})
        return {key: _coerced(inner[key], part) for key, part in value.items()}
    return value
