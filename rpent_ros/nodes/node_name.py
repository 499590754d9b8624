"""Keeps two nodes from serving under one name, where callers would reach either of them."""

from __future__ import annotations

import errno
import hashlib
import os
import socket
import time

import rclpy
from rclpy.node import Node

from rpent_ros.errors import NameTaken

# A fresh participant knows most of its neighbours by then; some take a second.
_DISCOVERY_S = 0.4
# A killed predecessor stays in the graph until its lease ends (fastdds.xml).
_LEASE_S = 2.5


def refuse_taken_name(name: str) -> socket.socket:
    """Make sure that no other node has the name that this process is about to take.

    Returns:
      What holds the name on this machine; to be closed when the node is gone.

    Raises:
      NameTaken: another node has it, and keeps it for longer than a dead one would.
    """
    probe = rclpy.create_node(name, start_parameter_services=False, enable_rosout=False)
    claim: socket.socket | None = None
    try:
        deadline = time.monotonic() + _LEASE_S
        claim = claim_name(probe.get_fully_qualified_name(), _LEASE_S)
        time.sleep(_DISCOVERY_S)
        while _count(probe) > 1:
            if time.monotonic() > deadline:
                raise NameTaken(_taken(probe.get_fully_qualified_name()))
            time.sleep(0.1)
        return claim
    except BaseException:
        if claim is not None:
            claim.close()
        raise
    finally:
        probe.destroy_node()


def claim_name(full_name: str, timeout_s: float) -> socket.socket:
    """Hold a node's name on this machine, in this domain, for as long as the socket is open.

    The graph shows a neighbour only after a while, sometimes a second; an abstract socket shows it
    at once, leaves no file behind, and the kernel frees it however its process ends.

    Args:
      full_name: the fully qualified name.
      timeout_s: how long to wait for another process to let go of it [s].

    Raises:
      NameTaken: another process keeps it.
    """
    key = hashlib.sha256(f'{_domain()} {full_name}'.encode()).hexdigest()
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    deadline = time.monotonic() + timeout_s
    try:
        while True:
            try:
                claim.bind(f'\0rpent_ros/{key}')
                return claim
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
            if time.monotonic() > deadline:
                raise NameTaken(_taken(full_name))
            time.sleep(0.1)
    except BaseException:
        claim.close()
        raise


def refuse_duplicate(node: Node) -> None:
    """Look once more, for a neighbour that was discovered late.

    Raises:
      NameTaken: another node has the same name.
    """
    if _count(node) > 1:
        raise NameTaken(_taken(node.get_fully_qualified_name()))


def _count(node: Node) -> int:
    return node.get_fully_qualified_node_names().count(node.get_fully_qualified_name())


def _taken(full_name: str) -> str:
    return (
        f'another node is already called {full_name} (ROS_DOMAIN_ID {_domain()}); end it, or '
        'choose another namespace or ROS_DOMAIN_ID'
    )


def _domain() -> str:
    return os.environ.get('ROS_DOMAIN_ID') or '0'
