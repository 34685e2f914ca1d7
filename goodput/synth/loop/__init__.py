"""The closed loop: a fleet is played through real protocols to the real collectors."""
