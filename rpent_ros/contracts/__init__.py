"""Records that cross borders: frozen, self-checking, numpy inside.

Import the classes from their modules, e.g. `rpent_ros.contracts.observation`.
"""
