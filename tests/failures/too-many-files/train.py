import resource

resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
files = [open("train.py") for _ in range(100)]
