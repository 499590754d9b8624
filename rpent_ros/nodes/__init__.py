"""ROS 2 nodes and adapters: the only folder that imports rclpy or message types."""
