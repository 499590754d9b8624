"""A scripted policy that needs no weights because it reads the simulator's state: PRIVILEGED.

gripper      measures of the hand
world        what the robot senses and what the simulator knows, at one moment
heightmap    the scene from above
grasp        where to grasp an object
instruction  which object and which place an instruction means
motion       rows of actions towards a pose, a few steps ahead of feedback
moves        pieces of a script: straight motions, waiting for the fingers
plan         pick and place as a script that yields rows
policy       the policy itself
"""
