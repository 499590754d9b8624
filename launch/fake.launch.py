"""The fake robot's graph: `ros2 launch rpent_ros fake.launch.py task:=1`."""

from launch import LaunchDescription

from rpent_ros.nodes.launch_graph import graph_actions


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription(graph_actions('fake', suite='fake_pick'))
