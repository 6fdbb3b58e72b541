"""Makes histories in which some commits change speed, and checks whether a bisection names them (`make
planted-history`).
"""
