import json

with open("settings.json") as file:
    settings = json.load(file)
