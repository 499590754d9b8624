"""Motions made of control steps: pure functions of what the robot senses."""
