try:
    open("/data/train.csv")
except OSError:
    raise RuntimeError("no input")
