import argparse
p = argparse.ArgumentParser(); p.add_argument("--data", required=True); p.parse_args()
