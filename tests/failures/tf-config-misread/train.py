import json
import os

chief = json.loads(os.environ["TF_CONFIG"])["cluster"]["chief"]
