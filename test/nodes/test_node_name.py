"""The claim on a node's name."""

from __future__ import annotations

import subprocess
import sys
import uuid

import pytest

pytestmark = pytest.mark.ros
pytest.importorskip('rclpy')

from rpent_ros.errors import NameTaken  # noqa: E402
from rpent_ros.nodes.node_name import claim_name  # noqa: E402

HOLD = """
import sys, time
from rpent_ros.nodes.node_name import claim_name
claim = claim_name(sys.argv[1], 0.0)
print('held', flush=True)
time.sleep(60)
"""


@pytest.fixture
def name(monkeypatch) -> str:
    monkeypatch.setenv('ROS_DOMAIN_ID', '86')
    # Longer than the name of a socket may be.
    return f'/{uuid.uuid4().hex}' * 5


def test_a_name_is_held_until_it_is_given_back(name: str, monkeypatch) -> None:
    claim = claim_name(name, 0.0)
    with pytest.raises(NameTaken) as caught:
        claim_name(name, 0.2)
    assert str(caught.value) == (
        f'another node is already called {name} (ROS_DOMAIN_ID 86); end it, or choose another '
        'namespace or ROS_DOMAIN_ID'
    )
    # The same name means another node elsewhere.
    claim_name(f'{name}2', 0.0).close()
    monkeypatch.setenv('ROS_DOMAIN_ID', '85')
    claim_name(name, 0.0).close()
    monkeypatch.setenv('ROS_DOMAIN_ID', '86')
    claim.close()
    claim_name(name, 0.0).close()


def test_a_killed_process_lets_go_of_its_name(name: str) -> None:
    holder = subprocess.Popen(
        [sys.executable, '-c', HOLD, name], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == 'held\n'
        with pytest.raises(NameTaken):
            claim_name(name, 0.0)
    finally:
        holder.kill()
        holder.communicate()
    claim_name(name, 0.0).close()
