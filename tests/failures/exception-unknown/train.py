import sys
sys.stdout.write("\r50%|#####     | 5/10")
sys.stdout.flush()
raise ValueError("bad settings")
