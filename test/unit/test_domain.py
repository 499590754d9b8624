"""Each run gets a ROS domain id that no other run on the machine has."""

import os
import pathlib
import socket

import pytest

from rpent_ros.cli import domain as domain_module
from rpent_ros.cli.domain import claimed_domain
from rpent_ros.errors import Unavailable


@pytest.fixture(autouse=True)
def no_ports_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other programs of the machine must not decide these tests."""
    monkeypatch.setattr(domain_module, '_is_silent', lambda domain: True)


def test_two_runs_get_two_ids(tmp_path: pathlib.Path) -> None:
    with claimed_domain({}, folder=tmp_path) as first:
        with claimed_domain({}, folder=tmp_path) as second:
            assert (first, second) == (1, 2)
        with claimed_domain({}, folder=tmp_path) as third:
            assert third == 2
    with claimed_domain({}, folder=tmp_path) as again:
        assert again == 1


def test_the_users_choice_is_kept(tmp_path: pathlib.Path) -> None:
    with claimed_domain({'ROS_DOMAIN_ID': '42'}, folder=tmp_path) as domain:
        assert domain == 42
    assert list(tmp_path.iterdir()) == []


def test_no_id_left(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domain_module, 'CANDIDATES', range(1, 3))
    message = (
        'ROS domain id: all from 1 to 2 are in use on this machine; set ROS_DOMAIN_ID'
    )
    with (
        claimed_domain({}, folder=tmp_path),
        claimed_domain({}, folder=tmp_path),
        pytest.raises(Unavailable, match=f'^{message}$'),
        claimed_domain({}, folder=tmp_path),
    ):
        pass


def test_a_lock_that_cannot_be_opened_counts_as_taken(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_open = os.open

    def refusing(path: pathlib.Path, *rest: int) -> int:
        if path.name == 'rpent_domain_1.lock':
            raise PermissionError
        return real_open(path, *rest)

    monkeypatch.setattr(os, 'open', refusing)
    with claimed_domain({}, folder=tmp_path) as domain:
        assert domain == 2


def test_wrong_choice(tmp_path: pathlib.Path) -> None:
    message = r"^ROS_DOMAIN_ID: expected an integer from 0 to 232, got 'lab'$"
    with (
        pytest.raises(domain_module.InvalidRequest, match=message),
        claimed_domain({'ROS_DOMAIN_ID': 'lab'}, folder=tmp_path),
    ):
        pass


def test_domain_of_a_program_that_is_no_run_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(('', 7400 + 250 * 97 + 10))
        assert not domain_module._is_silent(97)
    assert domain_module._is_silent(97)
