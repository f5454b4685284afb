import urllib.request
urllib.request.urlopen("http://data.invalid/train.csv", timeout=5)
