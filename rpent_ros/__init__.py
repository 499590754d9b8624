"""RPent's language-model-in-the-loop robot runner as a ROS 2 node graph."""

__version__ = '0.1.0'
