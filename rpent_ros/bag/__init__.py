"""Rosbags in MCAP: written, verified and repaired as `ros2 bag` does it, without needing it.

A bag is a folder with one .mcap file and rosbag2's metadata.yaml.
"""

from rpent_ros.bag.definitions import MessageDefinition, load_definition
from rpent_ros.bag.recording import Recording
from rpent_ros.bag.records import BagSummary, QosProfile
from rpent_ros.bag.repair import repair
from rpent_ros.bag.verify import verify
from rpent_ros.bag.writer import BagWriter

__all__ = [
    'BagSummary',
    'BagWriter',
    'MessageDefinition',
    'QosProfile',
    'Recording',
    'load_definition',
    'repair',
    'verify',
]
