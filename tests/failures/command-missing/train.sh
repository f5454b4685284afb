pyton train.py
