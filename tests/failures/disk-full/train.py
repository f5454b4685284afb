with open("/dev/full", "w") as f:
    f.write("x" * 100000); f.flush()
