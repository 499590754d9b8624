"""The base of this project's nodes: when it is destroyed, it leaves the graph at once."""

from __future__ import annotations

from rclpy.node import Node as RclpyNode


class Node(RclpyNode):
    """A node that takes its action servers and clients along when it is destroyed.

    rclpy leaves them to the garbage collector.  Until that comes by, they keep the node in the
    graph: whoever counts servers counts dead ones, and a middleware that finds more readers of
    requests than writers of answers says that no server is there, although a living one is.
    """

    def destroy_node(self) -> None:
        """Destroy everything that the node has made, then the node."""
        for waitable in list(self.waitables):
            destroy = getattr(waitable, 'destroy', None)
            if destroy is not None:
                destroy()
        super().destroy_node()
