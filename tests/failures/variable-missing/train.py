import os
print(os.environ["DATA_DIR"])
