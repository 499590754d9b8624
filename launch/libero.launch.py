"""LIBERO's graph: `ros2 launch rpent_ros libero.launch.py suite:=libero_object task:=2`."""

from launch import LaunchDescription

from rpent_ros.nodes.launch_graph import graph_actions


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription(graph_actions('libero', suite='libero_object'))
