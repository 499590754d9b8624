"""The interface package: its table of codes, and the comments that are its specification."""

from __future__ import annotations

import pathlib
import re

import pytest

from rpent_ros.errors import ErrorCode, RpentError, from_code

ROOT = pathlib.Path(__file__).resolve().parents[2] / 'rpent_msgs'
FILES = sorted(p for kind in ('msg', 'srv', 'action') for p in (ROOT / kind).iterdir())
RESPONSES = [p for p in FILES if p.suffix != '.msg']


def test_readme_lists_every_code_and_interface() -> None:
    text = (ROOT / 'README.md').read_text()
    listed = {int(n): name for n, name in re.findall(r'^\| (\d+) \| (\w+) \|', text, re.M)}
    assert listed == {int(code): code.name for code in ErrorCode}
    missing = [p.stem for p in FILES if f'[`{p.stem}`]' not in text]
    assert missing == []


def test_every_code_has_one_exception_class() -> None:
    classes = [cls.code for cls in RpentError.__subclasses__()]
    assert len(classes) == len(set(classes))
    assert set(classes) == set(ErrorCode) - {ErrorCode.OK, ErrorCode.UNKNOWN}
    for code in classes:
        error = from_code(int(code), 'why')
        assert (error.code, str(error)) == (code, 'why')


@pytest.mark.parametrize('path', FILES, ids=lambda p: p.name)
def test_files_begin_with_a_sentence_and_a_blank_line(path: pathlib.Path) -> None:
    lines = path.read_text().splitlines()
    assert lines[0].startswith('# ')
    head = next(i for i, line in enumerate(lines) if not line.startswith('#'))
    # A request may be empty, and then the section ends at once.
    assert lines[head] in ('', '---')


@pytest.mark.parametrize('path', RESPONSES, ids=lambda p: p.name)
def test_every_response_carries_code_and_sentence(path: pathlib.Path) -> None:
    answer = path.read_text().split('---\n')[1]
    assert 'uint16 error_code\n' in answer
    assert 'string error_msg\n' in answer


@pytest.mark.parametrize('path', FILES, ids=lambda p: p.name)
def test_no_comment_brackets_more_than_one_unit(path: pathlib.Path) -> None:
    """The interface parser takes the one bracket of a field's comment for its unit."""
    comment = ''
    for line in [*path.read_text().splitlines(), '']:
        if line.startswith('#'):
            comment += line
            continue
        assert len(re.findall(r'\[', comment)) <= 1, comment
        comment = ''
