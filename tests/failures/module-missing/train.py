import os
import pandas_of_nobody
