print("found")
