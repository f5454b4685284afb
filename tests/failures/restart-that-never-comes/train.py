raise ValueError("bad settings")
