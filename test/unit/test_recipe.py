"""Recipe files: what is accepted, and which line is to blame."""

import pytest

from rpent_ros.cerebrums import recipe
from rpent_ros.cerebrums.registry import make_cerebrum
from rpent_ros.errors import BadRecipe, InvalidRequest


def write(tmp_path, text):
    path = tmp_path / 'r.jsonl'
    path.write_text(text)
    return path


def test_lines_comments_and_notes(tmp_path):
    path = write(
        tmp_path,
        '# go home\n\n{"tool": "release"}\n'
        '{"turn": 2, "tool": "move_to", "arguments": {"xyz": [0, 0, 1]}, "ok": true}\n',
    )
    loaded = recipe.load(path)
    assert [(c.line, c.tool, dict(c.arguments)) for c in loaded.calls] == [
        (3, 'release', {}),
        (4, 'move_to', {'xyz': [0, 0, 1]}),
    ]


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('', 'recipe {path} holds no tool call; expected one a line'),
        (
            '{"recipe": 1, "robot": "fake"}\n',
            'recipe {path} holds no tool call; expected one a line',
        ),
        (
            '{"recipe": 2}\n{"tool": "release"}',
            'recipe {path}, line 1: expected format version 1 to 1, got 2; a newer rpent_ros '
            'wrote it, so upgrade this one',
        ),
        (
            '{"tool": "release"}\n{oops\n',
            "recipe {path}, line 2: expected a JSON object, got '{{oops' (Expecting property name "
            'enclosed in double quotes: line 1 column 2 (char 1))',
        ),
        (
            '["release"]',
            'recipe {path}, line 1: expected {{"tool": "...", "arguments": {{...}}}}, '
            'got ["release"]',
        ),
        (
            '{"tool": "release", "args": {}}',
            "recipe {path}, line 1: unknown key 'args'; known keys: tool, arguments, code, "
            'ok, steps, turn',
        ),
        (
            '{"tool": "move_to", "arguments": [1]}',
            'recipe {path}, line 1: expected arguments as a JSON object, got [1]',
        ),
    ],
)
def test_bad_lines(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(BadRecipe) as error:
        recipe.load(path)
    assert str(error.value) == message.format(path=path)


def test_what_is_written_is_read_back(tmp_path):
    writer = recipe.RecipeWriter(tmp_path / 'r.jsonl', {'robot': 'fake', 'seed': 3})
    writer.begin(2, 'move_to', {'xyz': [0.1 + 0.2, 0.0, 1.0]})
    writer.end(2, code='NOT_REACHED', steps=12)
    writer.begin(3, 'release', {})
    writer.drop(3)
    writer.begin(5, 'release', {})
    loaded = recipe.load(tmp_path / 'r.jsonl')
    assert dict(loaded.facts) == {'robot': 'fake', 'seed': 3}
    assert [(c.line, c.tool, dict(c.arguments), dict(c.notes)) for c in loaded.calls] == [
        (2, 'move_to', {'xyz': [0.1 + 0.2, 0.0, 1.0]},
         {'turn': 2, 'ok': False, 'code': 'NOT_REACHED', 'steps': 12}),
        (3, 'release', {}, {'turn': 5}),
    ]  # fmt: skip


def test_missing_file(tmp_path):
    with pytest.raises(BadRecipe) as error:
        make_cerebrum('scripted', recipe=str(tmp_path / 'no.jsonl'))
    assert str(error.value) == (
        f'recipe {tmp_path / "no.jsonl"} cannot be read: No such file or directory'
    )


def test_unknown_tool(tmp_path):
    path = write(tmp_path, '{"tool": "fly"}')
    with pytest.raises(BadRecipe) as error:
        recipe.load(path).check_tools(['move_to', 'finish'])
    assert str(error.value) == (
        f"recipe {path}, line 1: unknown tool 'fly'; known tools: move_to, finish"
    )


def test_unknown_cerebrum():
    with pytest.raises(InvalidRequest) as error:
        make_cerebrum('oracle')
    assert str(error.value) == "unknown cerebrum 'oracle'; known cerebrums: scripted, api, mcp"
